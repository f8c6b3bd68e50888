"""Removes what is no text for readers from a document, and writes frames, drawings and formulas as text in their place.

A frame's own document (`srcdoc`) stands where the frame is, a page of frames becomes a list of links, a drawing its
labels, a formula one `math` element with its TeX. Texts for browsers without scripts stay where they are all there is.
Runs in the parsing processes.
"""

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Any

from gateway.engines.html.head import PICTURES, picture_source
from gateway.engines.html.hidden import drop_hidden
from gateway.engines.html.tree import outermost, parse, raw_text, remove_all, text_of, text_size, values_of

_PARAGRAPHS = frozenset(
    {"p", "div", "section", "article", "li", "dt", "dd", "td", "th", "blockquote", "center", "pre", "figcaption",
     "h1", "h2", "h3", "h4", "h5", "h6"}
)  # fmt: skip
_NOTICE = re.compile(r"java\s?script|\bscripting\b|\benable (?:js|scripts)\b|\byour browser\b", re.IGNORECASE)
_BESIDE_CHARS = 100  # text beside a `noscript` up to which it is all there is
_DROPPED = (
    "script", "style", "noscript", "template", "svg", "iframe", "embed", "audio", "video", "select", "textarea",
    "input", "datalist", "link", "meta", "head", "title", "noembed", "rp",
)  # fmt: skip
_MARK_CLASSES = re.compile(r"headerlink|anchorjs|viewcode-link|mw-editsection|srclink|link-target")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "dt")
_MARK_ELEMENTS = 8  # most elements of a mark, itself included
_MARKS = frozenset(
    {"\u00b6", "#", "\u00a7", "\U0001f517", "\u2693", "[source]", "[src]", "[edit]", "[\u6e90\u4ee3\u7801]"}
)
_QUESTIONS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary", "legend"})
_OPENING = ("aria-controls", "data-bs-target", "data-target")
_MENUS = frozenset({"nav", "header", "footer", "menu"})
_BUTTON_LEVELS = 4  # elements between a button and its heading, or its panel's neighbour
_SENTENCE_WORDS = 5
_TASK_BOXES = 3  # elements around a check box among which the item of its task is
_FALLBACK_CHARS, _FALLBACK_SHARE = 400, 0.5
"""A `noscript` with more characters than both (in all, and of the page's) is the page's content for browsers without
scripts."""
_NO_VALUES = frozenset({"hidden", "checkbox", "radio", "password", "button", "submit", "reset", "image", "file"})
"""Types of fields without a value to read."""


def drop_code(root: Any) -> bool:
    """Removes elements without text for readers. Text for browsers without scripts stays if it is most of the page.
    True for a page that has nothing but short texts of this kind: a browser may show more."""
    body = root.find("body")
    if body is not None:
        remove_all(list(body.iter("noframes")))  # of a frameset inline_frames has made a box
        _keep_drawn_text(body)
        for frame in list(body.iter("iframe")):
            if len(frame):  # see inline_frames
                frame.tag = "div"
        _open_buttons(body)
        _show_lazy_pictures(body)
        _show_stand_ins(body)
        _show_values(body)
    fallback = [] if body is None else list(outermost(list(body.iter("noscript"))))
    remove_all(element for element in list(root.iter(*_DROPPED)) if element.tag != "noscript")
    content, is_alone = _content_in_place(body, fallback) if fallback else (set(), False)
    for element in content:
        element.tag = "div"
    remove_all(element for element in fallback if element not in content)
    _drop_marks(root)
    return is_alone


def _open_buttons(body: Any) -> None:
    """Makes text of the buttons that open one: a question above its answer, in a heading or alone."""
    buttons = body.xpath("descendant-or-self::*[self::button or @role = 'button']")
    targets = set(values_of("id", body)) if buttons else set()
    for button in buttons:
        around = list(itertools.islice(button.iterancestors(), _BUTTON_LEVELS))
        line = next((box for box in around if box.tag in _QUESTIONS), None)
        named = next((button.get(name) for name in _OPENING if button.get(name)), "").lstrip("#")
        opens = button.get("aria-expanded") is not None or (bool(named) and named in targets)
        if line is not None and (opens or text_size(line) == text_size(button)):
            button.tag = "span" if button.tag == "button" else button.tag
            button.attrib.pop("role", None)
        elif opens and button.tag == "button" and _opens_text(button) and not any(box.tag in _MENUS for box in around):
            button.tag = "p"
            strong = button.makeelement("strong")
            strong.text, button.text = button.text, None
            strong.extend(list(button))
            button.append(strong)


def _opens_text(button: Any) -> bool:
    """Whether sentences follow a button: the panel beside it or beside the box around it."""
    box = button
    for _ in range(_BUTTON_LEVELS):
        panel = box.getnext()
        if panel is not None:
            text = text_of(panel)
            linked = sum(text_size(link) for link in panel.iter("a"))
            return len(text.split()) >= _SENTENCE_WORDS and 2 * linked < len(text)
        box = box.getparent()
        if box is None or len(box) > 1:
            return False
    return False


def _show_lazy_pictures(body: Any) -> None:
    """Gives a picture without an address that of the `noscript` behind it, which has the same for old browsers."""
    for note in list(body.iter("noscript")):
        inner = next(note.iter(*PICTURES), None)
        if inner is None or text_size(note):
            continue
        before = note.getprevious()
        lazy = None if before is None else next(before.iter(*PICTURES), None)
        if lazy is not None and not picture_source(lazy):
            lazy.set("src", picture_source(inner))
            lazy.set("alt", lazy.get("alt") or inner.get("alt") or "")
        elif lazy is None or picture_source(lazy) != picture_source(inner):
            inner.tail = None
            note.addprevious(inner)


def _show_stand_ins(body: Any) -> None:
    """Turns fallback content of `object` and `canvas` into plain elements, and areas of image maps into links."""
    stand_ins = list(body.iter("object", "canvas"))
    _drop_notices(list(outermost(stand_ins)))
    for element in (*stand_ins, *list(body.iter("map"))):
        element.tag = "span"
    for area in body.iter("area"):
        if area.get("href") and area.get("alt"):
            area.tag, area.text, area.tail = "a", area.get("alt"), f" {area.tail or ''}"


def _show_values(body: Any) -> None:
    """Makes text of what fields show that nobody can change, of what is chosen beside a label, and of gauges.

    `<input readonly value="4 m">` becomes `<output>4 m</output>`, `<meter value=3 max=4>` `<output>75 %</output>`."""
    labelled = {label.get("for") for label in body.iter("label")} - {None}
    for field in list(body.iter("input", "textarea", "select", "progress", "meter")):
        kind = (field.get("type") or "").lower()
        is_fixed = field.get("readonly") is not None or field.get("disabled") is not None
        value = ""
        if field.tag == "select":
            if is_fixed or field.get("id") in labelled or next(field.iterancestors("label"), None) is not None:
                chosen = (text_of(each) for each in field.iter("option") if each.get("selected") is not None)
                value = ", ".join(chosen)
        elif field.tag in ("progress", "meter"):
            value = raw_text(field) if text_size(field) else _share(field)
        elif kind == "checkbox":
            value = _task(field)
        elif is_fixed and kind not in _NO_VALUES:
            value = (field.get("value") if field.tag == "input" else field.text) or ""
        if value.strip() and "://" not in value:  # addresses and markup are there to be copied
            field.clear(keep_tail=True)
            field.tag, field.text = "output", value


def _share(gauge: Any) -> str:
    """How full a gauge is; empty where that is not known."""
    try:
        value, least, most = (
            float(gauge.get(name, default)) for name, default in (("value", ""), ("min", 0), ("max", 1))
        )
    except ValueError:
        return ""
    return f"{(value - least) / (most - least):.0%}".replace("%", " %") if least <= value <= most > least else ""


def _task(box: Any) -> str:
    """The mark of a task, as GitHub writes it, for a check box in a list that nobody can use; else empty."""
    if box.get("disabled") is None:
        return ""
    if not any(each.tag == "li" for each in itertools.islice(box.iterancestors(), _TASK_BOXES)):
        return ""
    return "[ ]" if box.get("checked") is None else "[x]"


def _content_in_place(body: Any, fallback: list[Any]) -> tuple[set[Any], bool]:
    """Those of the texts for browsers without scripts that hold most of the page's text; or, where the page has next to
    nothing beside short ones, these, and True."""
    sizes = {each: text_size(each) for each in fallback}
    total = text_size(body)
    beside = total - sum(sizes.values())
    content = {each for each in fallback if sizes[each] > max(_FALLBACK_CHARS, _FALLBACK_SHARE * total)}
    if content or beside > _BESIDE_CHARS:
        return content, False
    _drop_notices(fallback)
    sizes = {each: text_size(each) for each in fallback}
    return ({each for each in fallback if sizes[each]}, True) if sum(sizes.values()) > beside else (set(), False)


def _drop_notices(notes: list[Any]) -> None:
    """Takes the paragraphs that ask for scripts out of texts for browsers without them: they are no answer."""
    for note in notes:
        paragraph: dict[Any, Any] = {}
        pieces: dict[Any, list[str]] = {}
        for element in note.iter():
            outer = paragraph.get(element.getparent())
            own = paragraph[element] = element if outer is None or element.tag in _PARAGRAPHS else outer
            pieces.setdefault(own, []).append(element.text or "")
            if outer is not None:
                pieces[outer].append(element.tail or "")
        texts = {own: "".join(found) for own, found in pieces.items()}
        notices = {own for own, text in texts.items() if len(text) <= _FALLBACK_CHARS and _NOTICE.search(text)}
        for element, own in paragraph.items():
            if own in notices:
                element.text = None
            if paragraph.get(element.getparent()) in notices:
                element.tail = None


def _keep_drawn_text(body: Any) -> None:
    """Replaces by elements of text what a browser shows of drawings (labels and foreign objects in an `svg`)."""
    inner: set[Any] = set()
    for drawing in list(body.iter("svg")):
        if drawing in inner:
            continue
        inner.update(drawing.iter("svg"))
        shown = [each for each in _drawn(drawing) if text_size(each)]
        if shown:
            drawing.clear(keep_tail=True)
            drawing.tag = "div"
            drawing.text = " ".join(text_of(each) for each in shown if each.tag == "text")
            drawing.extend(each for each in shown if each.tag != "text")


def _drawn(drawing: Any) -> Iterator[Any]:
    """The outermost labels and foreign objects that a drawing shows, in document order; the latter become boxes."""
    stack = [drawing]
    while stack:
        element = stack.pop()
        if element.tag == "text":
            yield element
        elif element.tag == "foreignobject":
            element.tag, element.tail = "div", None
            yield element
        elif element.tag not in ("defs", "symbol"):
            stack += reversed(element)


def _drop_marks(root: Any) -> None:
    """Removes links that only serve the page: to a heading itself, to the source of what it names, to its editor."""
    remove_all([mark for mark in root.iter("a", "span") if _MARK_CLASSES.search(mark.get("class") or "")])
    inside: dict[Any, None] = {}  # in document order
    for heading in root.iter(*_HEADINGS):
        if heading not in inside:  # headings may be nested: each part of them is looked at once
            inside |= dict.fromkeys(heading.iter("a", *_HEADINGS))
    remove_all(link for link in inside if link.tag == "a" and _is_small(link) and text_of(link) in _MARKS)


def _is_small(element: Any) -> bool:
    """Whether an element holds so few others that it can be a mark: so no text is read more often than that, however
    elements are nested."""
    return sum(1 for _ in itertools.islice(element.iter(), _MARK_ELEMENTS + 1)) <= _MARK_ELEMENTS


_MOST_FRAMES = 20  # frames opened in one page
_MOST_CHARS = 200_000  # markup of all these documents
_APART = ("script", "style", "link", "meta", "title", "noscript", "template", "iframe")
"""What must not reach the page that a document is put into: its rules, and frames inside frames."""


def open_frames(root: Any) -> None:
    """Fills the frames of a document that was just parsed; what a frame holds for old browsers goes."""
    _open_frameset(root)
    left, opened = _MOST_CHARS, 0
    for frame in list(root.iter("iframe")):
        del frame[:]
        frame.text = None
        source = frame.get("srcdoc")
        if source is None or opened == _MOST_FRAMES or len(source) > left:
            continue
        opened, left = opened + 1, left - len(source)
        box = _document(source)
        if box is not None:
            frame.append(box)
            _set_size(frame)


def _open_frameset(root: Any) -> None:
    """Makes the frameset of a document that was just parsed its body; nothing where it has none."""
    top = root.find("frameset")
    if top is None or root.find("body") is not None:
        return
    top.tag = "body"
    for element in list(root.iter("frameset", "frame", "noframes")):
        element.text, source = "", element.text or ""
        if element.tag == "noframes":
            inner = parse(source)  # browsers read it as text without marks
            shown = None if inner is None else inner.find("body")
            if shown is not None:
                element.text = shown.text
                element.extend(list(shown))
        elif element.tag == "frame" and (address := element.get("src", "").strip()):
            link = element.makeelement("a", {"href": address})
            link.text = element.get("title") or element.get("name") or address
            element.append(link)
        element.attrib.clear()
        element.tag = "div"


def _document(source: str) -> Any:
    """The body of the document as a box, without what it hides; None for an empty one, and for one that hides most of
    itself: `hidden` then ignores its rules, as a page that is all hidden would be empty, which a frame may be."""
    inner = parse(source)
    if inner is None or drop_hidden(inner):
        return None
    remove_all(list(inner.iter(*_APART)))
    body = inner.find("body")
    if body is not None:
        body.tag, body.tail = "div", None
    return body


def _set_size(frame: Any) -> None:
    """Adds the frame's width, height and `overflow:hidden` to its style, by which `drop_hidden` finds hidden frames."""
    sizes = [f"{side}:{size}px" for side in ("width", "height") if (size := frame.get(side, "")).isdecimal()]
    frame.set("style", ";".join([*sizes, frame.get("style", ""), "overflow:hidden"]))


_MAX_TEX_CHARS = 4_000  # longest source of a formula
_MAX_UNSEEN_LETTERS = 8  # letters of a source that the formula does not show
_MAX_DEPTH = 40  # nesting of MathML that is written; deeper elements are their text
_DATA_TEX = re.compile(r"data-(?:\w+-)?(?:tex|latex|math|formula|equation|expr)\b")
_COMMAND = re.compile(r"\\(?:begin|end)\s*\{[^{}]{0,30}\}|\\[A-Za-z]+")
_STYLED = re.compile(r"\{?\\(?:display|text)style\s*(.*?)\}?", re.DOTALL)
_NOT_LETTERS = re.compile(r"[\W_]+")
_TWO = {"mfrac": r"\frac{{{0}}}{{{1}}}", "msup": "{0}^{{{1}}}", "msub": "{0}_{{{1}}}", "mroot": r"\sqrt[{1}]{{{0}}}",
        "mover": "{0}^{{{1}}}", "munder": "{0}_{{{1}}}"}  # fmt: skip
_THREE = frozenset({"msubsup", "munderover"})
_SILENT = frozenset({"annotation", "annotation-xml", "mspace", "mphantom", "none", "mprescripts"})


def write_formulas(root: Any) -> None:
    """Gives each formula of the document its source as its only text, in place."""
    _read_data_formulas(root)
    inside: set[Any] = set()
    for formula in list(root.iter("math")):
        if formula not in inside:
            inside.update(formula.iter("math"))
            _write(formula)
    if inside:
        _drop_renderings(root)
    for script in [each for each in root.iter("script") if (each.get("type") or "").lower().startswith("math/tex")]:
        while (drawn := script.getprevious()) is not None and _is_drawn_by_script(drawn):
            remove_all([drawn])
        tex, is_block = (script.text or "").strip(), "display" in script.get("type")
        _become(script, tex[:_MAX_TEX_CHARS], is_block=is_block)


def _read_data_formulas(root: Any) -> None:
    """Writes the formulas that an attribute holds as TeX (`data-tex="..."`), if what is shown has its letters."""
    for element in list(root.iter("span", "div")):
        named = [element.get(name) for name in element.attrib if name.startswith("data-") and _DATA_TEX.match(name)]
        found = [value for value in named if value.strip()]
        if found and next(element.iter("math"), None) is None:
            shown = " ".join("".join(element.itertext()).split())
            if not shown or _is_shown(found[0], shown):
                _become(element, found[0].strip(), is_block="display" in (element.get("class") or ""))


def _become(element: Any, tex: str, *, is_block: bool) -> None:
    element.clear(keep_tail=True)
    element.tag, element.text = "math", tex
    if is_block:
        element.set("display", "block")


def _write(formula: Any) -> None:
    shown = _linear(formula, 0).strip()
    sources = [note.text or "" for note in formula.iter("annotation") if "tex" in (note.get("encoding") or "").lower()]
    tex = next(filter(None, [*sources, formula.get("alttext") or ""]), "").strip()
    match = _STYLED.fullmatch(tex)
    own = match[1].strip() if match is not None else tex
    image = _picture_of(formula, tex)
    written = own if _is_shown(tex, shown) else shown
    _become(formula, written, is_block=formula.get("display") == "block")
    if image is not None:
        _become(image, written, is_block=False)


def _is_shown(tex: str, shown: str) -> bool:
    """Whether the formula shows the letters of its source, but for its commands."""
    if not tex or len(tex) > _MAX_TEX_CHARS:
        return False
    return (_letters(tex) - _letters(shown)).total() <= _MAX_UNSEEN_LETTERS


def _letters(text: str) -> Counter[str]:
    return Counter(_NOT_LETTERS.sub("", unicodedata.normalize("NFKC", _COMMAND.sub(" ", text))).lower())


def _picture_of(formula: Any, tex: str) -> Any:
    """The picture behind the box of a hidden formula, if it has the formula's source as its description."""
    box = formula.getparent()
    picture = None if box is None else box.getnext()
    return picture if picture is not None and picture.tag == "img" and tex and picture.get("alt") == tex else None


def _drop_renderings(root: Any) -> None:
    """Removes what repeats a formula for the eye, beside its MathML for readers of the screen."""
    drawn = [each for each in root.iter("span") if each.get("class") == "katex-html"]
    remove_all([each for each in drawn if _holds_formula(each.getprevious())])


def _holds_formula(element: Any) -> bool:
    return element is not None and next(element.iter("math"), None) is not None


def _is_drawn_by_script(element: Any) -> bool:
    return isinstance(element.tag, str) and (element.get("class") or "").startswith("MathJax")


def _linear(element: Any, depth: int) -> str:
    """MathML as TeX, its names as they are."""
    if not isinstance(element.tag, str) or element.tag in _SILENT:
        return ""
    if depth > _MAX_DEPTH:
        return " ".join("".join(element.itertext()).split())
    if not len(element):
        text = " ".join((element.text or "").split())
        is_word = element.tag == "mtext" or (element.tag == "mi" and len(text) > 1)  # such as `cos`
        return f" {text} " if is_word else text
    parts = [_linear(child, depth + 1) for child in element]
    if element.tag in _TWO and len(parts) == 2:
        return _TWO[element.tag].format(*parts)
    if element.tag in _THREE and len(parts) == 3:
        return f"{parts[0]}_{{{parts[1]}}}^{{{parts[2]}}}"
    if element.tag == "msqrt":
        return rf"\sqrt{{{''.join(parts)}}}"
    if element.tag == "mtable":
        return r" \\ ".join(parts)
    if element.tag == "mtr":
        return " & ".join(parts)
    return f"({','.join(parts)})" if element.tag == "mfenced" else "".join(parts)
