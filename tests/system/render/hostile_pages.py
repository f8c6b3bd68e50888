"""Pages that mean harm: `tests/golden/hostile_pages` holds a program or the head of a page for each.

`INSIDE` stands for the address of a listener that nobody may reach. Add a file there and nothing else: every page is
shown by the same test, which asks the same of all of them.
"""

from tests.support.paths import GOLDEN

_TOOLS = """
const app = document.getElementById('app');
const kind = (text) => text.includes('<') ? 'text/html' : 'text/javascript';
const blob = (text) => URL.createObjectURL(new Blob([text], {type: kind(text)}));
const frame = (src) => document.body.append(Object.assign(document.createElement('iframe'), {src}));
const link = (href) => document.body.appendChild(Object.assign(document.createElement('a'), {href}));
"""

MAY_BE_LOST = {
    "goes_on_and_on", "reloads", "refreshes_without_end", "goes_back_and_forth", "stays", "lies_about_itself",
    "frames_in_frames", "frames_of_other_sites", "a_document_that_grows", "a_deep_tree", "forms", "windows",
    "attributes_that_grow", "a_body_without_end",
}  # fmt: skip
"""Pages that leave for another one or leave nothing to read, those that are too large to be read in their seconds on a
busy machine, and one that fills its memory until its process ends: no text is as right as their own."""


def hostile_pages() -> dict[str, str]:
    """Name and HTML of each."""
    body, pages = "<body><div id=app>the text</div>", dict[str, str]()
    for path in sorted((GOLDEN / "hostile_pages").iterdir()):
        head, code = (path.read_text(), "") if path.suffix == ".html" else ("", path.read_text())
        script = f"<script>{_TOOLS}{code}</script></body>" if code else ""
        pages[path.stem] = f"<!doctype html><head>{head}</head>{body}{script}"
    assert pages.keys() > MAY_BE_LOST
    return pages
