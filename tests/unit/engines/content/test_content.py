"""What of a page is its content, by the type of page: texts the models were not trained on."""

import json
import re
from pathlib import Path

import pytest

from gateway.domain import Json
from gateway.engines.content.models import BlockModel, PageTypes
from tests.support.paths import GOLDEN
from tests.support.read_pages import content_of, page_of

_SENTENCES = (GOLDEN / "sentences.txt").read_text().splitlines()


def paragraphs(start: int = 0) -> str:
    return "".join(f"<p>{text}</p>" for text in _SENTENCES[start:] + _SENTENCES[:start])


def page(body: str, head: str = "", url: str = "http://post.test/news/2026/the-river-and-the-village") -> Json:
    return page_of(f"<html><head><title>The river and the village</title>{head}</head><body>{body}</body></html>", url)


ARTICLE_HEAD = '<meta property="og:type" content="article"><meta name="author" content="A. Writer">'


def test_a_text_for_wide_and_one_for_narrow_screens_is_kept_once() -> None:
    both = f"<div class='text'>{paragraphs()}</div><div class='text2'>{paragraphs()}</div>"
    made = page(f"<main><h1>The river</h1>{both}</main>", ARTICLE_HEAD)
    assert all(made["content"].count(text) == 1 for text in _SENTENCES)


def test_a_line_repeated_within_one_text_stays() -> None:
    made = page(f"<main><h1>A ballad</h1><div>{paragraphs()}<p>{_SENTENCES[0]}</p></div></main>", ARTICLE_HEAD)
    assert made["content"].count(_SENTENCES[0]) == 2


@pytest.mark.parametrize(
    ("loose", "words"),
    [
        ("Nobody smokes on deck.", "Nobody smokes on deck"),
        ("Quay seven", "Quay seven"),
        ("<code>ferry --list</code>", "ferry list"),
        ("<a href='/plan'>Plan of the quay</a>", "Plan of the quay http post test plan"),
        ("<b>Boat:</b> Gull<br><b>Mate:</b> Jo", "Boat Gull Mate Jo"),
        ("<math display=block><mi>v</mi><mo>=</mo><mi>s</mi></math>", "v s"),
        ("<script type='math/tex; mode=display'>d = 3 t</script>", "d 3 t"),
        ("<span>Boarding <i>ends</i> early</span>", "Boarding ends early"),
    ],
)
@pytest.mark.parametrize(
    "box",
    [
        "<div>{title}{0}{loose}{1}</div>",
        "<main><article>{title}{loose}{0}{1}</article></main>",
        "{title}{0}<table><tr><th>Day<th>Time<tr><td>Monday<td>9.30</table>{loose}{1}",
        "<table><tr><td>{title}{0}<hr>{loose}<hr>{1}</td></tr></table>",
        "<div><div>{title}{0}Between two lines.{1}<h2>Plan</h2>{loose}</div></div>",
        "{title}{0}<ul><li>ropes for bicycles</li></ul>{loose}<pre>6.15\n9.30</pre>{1}",
        "<main>{title}{0}<details><summary>More of it</summary>{loose}<p>Ropes lie on board.</p></details>{1}</main>",
    ],
)
def test_what_stands_between_blocks_is_read_in_its_place(box: str, loose: str, words: str) -> None:
    texts = ["".join(f"<p>{text}</p>" for text in part) for part in (_SENTENCES[:3], _SENTENCES[3:5])]
    markup = box.format(*texts, title="<h1>The ferry</h1>", loose=loose)
    made = " ".join(re.findall(r"\w+", page(markup, url="http://post.test/ferry")["content"]))
    ends = {"{0}": "every other spring", "{1}": "The council met", "{loose}": words}
    assert words in made
    assert sorted(ends, key=lambda name: made.find(ends[name])) == sorted(ends, key=box.find)


_SHORT = (
    "<div class='fees'><p>Children pay nothing at all.</p></div>"
    "<section><h2>Veils</h2><p>They hang in the shed.</p></section>"
)


@pytest.mark.parametrize(
    "box",
    [
        "<div {}><h1>The river</h1>{}</div>",
        "<nav><a href='/'>Home</a></nav><section {}><h1>The river</h1>{}</section><footer>All rights.</footer>",
        "<h1>The river</h1><div><div {}>{}</div></div>",
        "<div {}><main><h1>The river</h1>{}</main></div>",
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        "comments-open", "no-comments", "cookie-accepted", "has-modal", "sidebar-left footer-fixed", "hide-ads",
        "gdpr-ok",
    ],
)  # fmt: skip
@pytest.mark.parametrize("attribute", ["class", "id"])
def test_the_name_of_a_wrapper_does_not_count_against_its_text(attribute: str, name: str, box: str) -> None:
    text = f"{paragraphs()}{_SHORT}{paragraphs(4)}<ul><li>Closed in rain.</li><li>Bring boots.</li></ul>"
    made = page(box.format(f"{attribute}='{name}'", text), url="http://post.test/river")["content"]
    assert made == page(box.format("", text), url="http://post.test/river")["content"]
    assert "They hang in the shed." in made


def test_what_many_items_share_stays_with_each() -> None:
    item = "<div><h3>House {}</h3><div>{}</div><p>Two bedrooms and one bath.</p></div>"
    items = "".join(item.format(at, text) for at, text in enumerate(_SENTENCES))
    made = page(f"<main><h1>Houses by the river</h1>{items}</main>", ARTICLE_HEAD)
    assert made["content"].count("Two bedrooms and one bath.") == len(_SENTENCES)


def test_a_page_without_text_has_no_type() -> None:
    assert page("<div></div>")["page_type"] == ""


@pytest.mark.parametrize("depth", ["class", "id"])
def test_names_nested_without_end_are_judged_in_bounded_time(depth: str) -> None:
    nested = "".join(f'<div {depth}="comment-{at}">' for at in range(3000))
    assert _SENTENCES[0] in page(f"<main>{paragraphs()}</main>{nested}<p>deep</p>", ARTICLE_HEAD)["content"]


def test_models_trained_on_other_measures_are_refused() -> None:
    with pytest.raises(ValueError, match="train it again"):
        BlockModel({"features": ["other"], "start": 0.0, "trees": []})
    with pytest.raises(ValueError, match="train them again"):
        PageTypes({"signals": ["other"], "mean": [], "scale": [], "weights": {}})


def test_an_empty_frame_that_scripts_fill_is_no_page() -> None:
    scripts = '<script>document.write("menu")</script>' * 40
    markup = f"<html><body>{scripts}<main id=root><p>Please wait</p></main><footer>Contact</footer></body></html>"
    assert content_of(markup, "http://app.test/") == ""


_PAGES = GOLDEN / "pages"
"""Small pages, each of a kind, and beside each the Markdown that it is read as."""
_SITES = json.loads(Path(__file__).with_name("site_pages.json").read_text("utf-8"))
"""Pages in the typical markup of shop systems, forums and sites, which no model was trained on: name, address, markup,
texts that are content, and texts that stand around it."""


@pytest.mark.parametrize("name", sorted(page.stem for page in _PAGES.glob("*.html")))
def test_a_page_is_read_as_its_markdown(name: str) -> None:
    found = content_of((_PAGES / f"{name}.html").read_bytes(), f"http://museum.test/pages/{name}", "text/html")
    assert f"{found}\n" == (_PAGES / f"{name}.md").read_text("utf-8")


@pytest.mark.parametrize("site", _SITES, ids=lambda site: site["name"])
def test_the_content_of_a_page_is_read_without_what_stands_around_it(site: Json) -> None:
    found = page_of(site["markup"], site["url"])
    told = f"{found['title']}\n{found['content']}"
    assert [text for text in site["content"] if text not in told] == []
    assert [text for text in site["outside"] if text in told] == []
