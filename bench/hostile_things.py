"""Hostile structured data of the types that are told of pages without text: `THINGS`, rows of `hostile_functions`."""

from collections.abc import Callable
from functools import partial

from bench.hostile_inputs import json_ld

_ANSWERS = '{"@type":"FAQPage","mainEntity":{"@type":"Question","name":"a b","acceptedAnswer":['
_ARTICLE = '{"@type":"Article","articleBody":"'
THINGS: dict[str, Callable[[int], str]] = {
    "recipes": partial(json_ld, "[", '{"@type":"Recipe","name":"a b","recipeIngredient":["c"]},', "1]"),
    "ingredients": partial(json_ld, '{"@type":"Recipe","recipeIngredient":[', '"a","b c",', "1]}"),
    "sections": lambda size: json_ld(
        '{"@type":"Recipe","recipeInstructions":', '{"name":"a","itemListElement":', "1" + "}" * (size // 30 + 1), size
    ),
    "places": lambda size: json_ld('{"@type":"Event","location":', '{"address":', "1" + "}" * (size // 11 + 1), size),
    "answers": partial(json_ld, _ANSWERS, '{"text":"<b>x"},', "1]}}"),
    "article of tags": partial(json_ld, _ARTICLE, "<b><p>a &amp; ", '"}'),
    "article of half tags": partial(json_ld, _ARTICLE, "<a ", '"}'),
    "article of lines": partial(json_ld, _ARTICLE, "a\\n", '"}'),
    "texts for no scripts": lambda size: "<noscript><p>a <b>b" * (size // 19),
    "one text for no scripts": lambda size: "<noscript>" + "<p>JavaScript <div>" * (size // 19),
    "short lists": lambda size: "<body><p>a text of five words" + "<h2>a</h2><ul><li>b" * (size // 19),
}
