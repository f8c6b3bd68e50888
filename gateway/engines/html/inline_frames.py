"""Puts the documents that a page itself holds (`<iframe srcdoc="…">`) into their frames, where a browser shows them.
Makes a page of frames (`<frameset>`) a text: what it says to browsers without frames, and a link to each frame.

What a frame's own document hides is left out by that document's rules; whether the frame is seen decide the rules of
the page, so the frame stays an `iframe` until `hidden` has run, and `no_text` makes it a box. Documents that have to be
fetched are not read. Runs in the parsing processes; decides nothing about content. Source: HTML, 4.8.5; read
2026-11-23.
"""

from typing import Any

from gateway.engines.html.dom import parse, remove_all
from gateway.engines.html.hidden import drop_hidden

_MOST_FRAMES = 20
"""Frames opened in one page. Chosen: examples of a tutorial. At half, long ones lose their last examples; at double a
page made for it costs twice the time."""
_MOST_CHARS = 200_000
"""Markup of all these documents. Chosen: an article. At half it would be cut; at double a page made for it takes twice
the time of an honest one."""
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
