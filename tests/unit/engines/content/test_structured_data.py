"""What a page's structured data adds to its text, and that hostile data adds nothing and takes no time."""

import json
from typing import Any

import pytest

from gateway.engines.content.prune import Content
from gateway.engines.content.structured_data import StructuredData, read_structured_data
from gateway.engines.content.structured_text import completed
from gateway.engines.documents.options import ExtractOptions
from gateway.engines.documents.page import extract, text_of_content
from gateway.engines.html.dom import parse
from gateway.engines.html.metadata import read_head

_URL = "https://shop.test/tents/alpine"
_TENT = {
    "@context": "https://schema.org",
    "@type": "Product",
    "name": "Alpine Tent",
    "brand": {"@type": "Brand", "name": "Northface Hill"},
    "description": "A tent for <b>two</b> people &amp; four seasons, of ripstop nylon with aluminium poles.",
    "offers": {
        "@type": "Offer",
        "price": "1299.0",
        "priceCurrency": "EUR",
        "availability": "https://schema.org/InStock",
    },
    "aggregateRating": {"@type": "AggregateRating", "ratingValue": 4.6, "reviewCount": "128"},
}


def data_of(markup: str) -> StructuredData:
    root = parse(markup)
    return read_structured_data(root, read_head(root, _URL))


def ld(value: Any) -> str:
    return f'<body><p>a</p><script type="application/ld+json">{json.dumps(value)}</script>'


def added(markup: str, text: str = "", kind: str = "product", plain: bool = False) -> str:
    return completed(text, data_of(markup), kind, plain)


def test_a_page_without_text_of_its_own_gets_the_products_name_description_and_facts() -> None:
    assert added(ld(_TENT)).split("\n\n") == [
        "Alpine Tent",
        "A tent for two people & four seasons, of ripstop nylon with aluminium poles.",
        "Brand: Northface Hill; Price: 1299.0 EUR; in stock; Rating: 4.6 of 5 (128 reviews)",
    ]


@pytest.mark.parametrize("price", ["1,299.00 €", "EUR 1299", "1.299,00", "1299.00"])
def test_what_the_text_says_is_not_said_again(price: str) -> None:
    text = (
        f"# Alpine Tent\n\nNorthface Hill, {price}, in stock, rated 4.6. A tent for two people & four seasons, of "
        "ripstop nylon with aluminium poles."
    )
    assert added(ld(_TENT), text) == text


def test_another_price_in_the_text_does_not_hide_the_products() -> None:
    assert added(ld(_TENT), "Delivery 12.99 EUR. " * 20).endswith(
        "Brand: Northface Hill; Price: 1299.0 EUR; in stock; Rating: 4.6 of 5 (128 reviews)"
    )


def test_a_long_text_describes_the_product_in_its_own_words() -> None:
    assert "ripstop" not in added(ld(_TENT), "The tent stands in a storm and weighs little. " * 10)


@pytest.mark.parametrize("kind", ["article", "documentation", "forum"])
def test_an_article_with_a_product_in_its_data_stays_as_it_is(kind: str) -> None:
    assert added(ld(_TENT), "A text.", kind) == "A text."


def test_specifications_that_the_text_lacks_come_as_a_list() -> None:
    weight = {"@type": "QuantitativeValue", "value": 2.1, "unitText": "kg"}
    rows = [{"name": "Poles", "value": "aluminium"}, {"name": "Persons", "value": 2}, {"name": "x"}, "y", {"value": 1}]
    tent = _TENT | {"weight": weight, "sku": ["AT-2"], "material": "nylon", "additionalProperty": rows}
    data = data_of(ld(tent))
    assert data.products[0].properties == {
        "Material": "nylon", "Weight": "2.1 kg", "SKU": "AT-2", "Poles": "aluminium", "Persons": "2"
    }  # fmt: skip
    text = completed("Alpine Tent of nylon, with poles of aluminium.", data, "product", plain=False)
    assert text.endswith("\n\n- Weight: 2.1 kg\n- SKU: AT-2\n- Persons: 2")


def test_the_items_of_a_list_come_with_their_links_and_prices() -> None:
    items = [
        {"@type": "ListItem", "position": 1, "url": "/tents/1", "name": "Tent [one]"},
        {"@type": "ListItem", "item": {"@type": "Product", "name": "Two", "url": "/tents/2", "offers": {"price": 20}}},
        {"@type": "ListItem", "name": "Three", "item": "https://shop.test/tents/3"},
    ]
    page = ld({"@type": "CollectionPage", "mainEntity": {"@type": "ItemList", "itemListElement": items}})
    assert added(page, "Tents", "collection").split("\n\n")[1].split("\n") == [
        "- [Tent \\[one\\]](https://shop.test/tents/1)",
        "- [Two](https://shop.test/tents/2), 20",
        "- [Three](https://shop.test/tents/3)",
    ]
    assert added(page, "Tents", "collection", plain=True) == "Tents\n\nTent [one]\nTwo, 20\nThree"
    shown = "Tent [one], Two and Three"
    assert added(page, shown, "collection") == shown


def test_paths_menus_and_related_products_are_no_items_of_the_page() -> None:
    crumbs = {"@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem", "name": "Home", "item": "/"}]}
    graph = {"@graph": [crumbs, {"@type": "WebPage", "breadcrumb": crumbs, "isRelatedTo": [{**_TENT, "name": "B"}]}]}
    assert data_of(ld(graph)) == StructuredData()


def test_microdata_is_read_like_json() -> None:
    markup = """<body><div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Red <b>kettle</b></h1>
    <div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="priceCurrency" content="USD">
    <span itemprop="price" content="24.5">$ 24½</span><link itemprop="availability" href="https://schema.org/SoldOut">
    </div><div itemprop="brand" itemscope itemtype="https://schema.org/Brand"><i itemprop="name">Kettleworks</i></div>
    </div>"""
    assert added(markup) == "Red kettle\n\nBrand: Kettleworks; Price: 24.5 USD; sold out"


def test_open_graph_speaks_of_a_product_only_where_it_has_facts_of_one() -> None:
    head = '<meta property="og:type" content="product"><meta property="og:title" content="Lamp">'
    assert added(head + "<p>a") == ""
    price = '<meta property="product:price:amount" content="9.5"><meta property="product:price:currency" content="GBP">'
    assert added(head + price + "<p>a") == "Lamp\n\nPrice: 9.5 GBP"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "Product",
        {"@type": "Product"},
        {"@type": {"a": 1}, "name": "x"},
        {"@type": "Product", "name": ["", {}], "offers": "free", "aggregateRating": [7], "brand": 3},
        {"@type": "ItemList", "itemListElement": {"item": 5}},
        {"@type": "ItemList", "itemListElement": "abc"},
    ],
)
def test_data_of_other_types_adds_nothing(value: Any) -> None:
    assert added(ld(value), "A text.") == "A text."


def test_broken_data_does_not_hide_the_next_and_a_deep_one_is_left_out() -> None:
    broken = '<script type="application/ld+json">{"@type": </script>'
    deep = '<script type="application/ld+json">' + "[" * 5_000 + "]" * 5_000 + "</script>"
    assert [product.name for product in data_of(broken + deep + ld(_TENT)).products] == ["Alpine Tent"]


def test_a_list_and_a_description_are_cut() -> None:
    items = [{"name": f"Item number {at}"} for at in range(500)]
    found = data_of(ld([{"@type": "ItemList", "itemListElement": items}, {**_TENT, "description": "long " * 9_000}]))
    assert len(found.items) == 100
    assert len(found.products[0].description) <= 5_000


def test_marks_in_the_data_are_text() -> None:
    assert added(ld({**_TENT, "name": "*Tent* [a](javascript:b)"})).startswith("\\*Tent\\* [a\\](javascript:b)")


def test_a_product_page_drawn_by_scripts_is_read_from_its_data() -> None:
    markup = f"<title>Alpine Tent</title><div id=root></div><script src=/app.js></script>{ld(_TENT)}"
    text = extract(markup.encode(), ExtractOptions(_URL))["content"]
    assert "four seasons" in text
    assert "Price: 1299.0 EUR" in text


def test_pictures_of_goods_are_left_out_and_those_of_articles_stay() -> None:
    root = parse('<body><p>A red kettle.</p><img src="/k.png" alt="The kettle on a stove"></body>')
    head = read_head(root, _URL)
    texts = {
        kind: text_of_content(Content(root.find("body"), kind), head, StructuredData(), plain=False)
        for kind in ("article", "product", "listing", "collection")
    }
    assert texts["article"] == "A red kettle.\n\n![The kettle on a stove](https://shop.test/k.png)"
    assert {texts[kind] for kind in ("product", "listing", "collection")} == {"A red kettle."}


def test_a_picture_that_is_all_of_a_link_names_the_link() -> None:
    root = parse('<body><a href="/acme"><img src="/a.png" alt="Acme *"></a><p>A shop of shops.</p></body>')
    content = Content(root.find("body"), "listing")
    text = text_of_content(content, read_head(root, _URL), StructuredData(), plain=False)
    assert text == "[Acme *](https://shop.test/acme)\n\nA shop of shops."
