"""The OCR dialect inside chat messages: mode prompts, blocks with boxes, special tokens.

Source: DeepSeek-OCR's README ("Prompts examples") and its run_dpsk_ocr_image.py, read 2026-11-21: labels in
`<|ref|>`, boxes in `<|det|>`, integers 0..999 from the top left.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.domain import Json
from gateway.errors import InvalidRequest

IMAGE_TOKEN = "<image>"  # noqa: S105 - a prompt token
GROUNDING_TOKEN = "<|grounding|>"  # noqa: S105
COORDINATE_MAX = 999
"""Boxes are in thousandths of the image's width and height, 0 to 999, from the top left."""
LOCATE_PLACEHOLDER = "<TEXT_TO_FIND>"


@dataclass(frozen=True, slots=True)
class PromptMode:
    """One mode. `prompt` is what a caller sends, empty for `custom`."""

    name: str
    prompt: str


MARKDOWN = PromptMode("markdown", "<image>\n<|grounding|>Convert the document to markdown.")
FREE = PromptMode("free", "<image>\nFree OCR.")
LOCATE = PromptMode("locate", "<image>\nLocate <|ref|><TEXT_TO_FIND><|/ref|> in the image.")
DESCRIBE = PromptMode("describe", "<image>\nDescribe this image in detail.")
CUSTOM = PromptMode("custom", "")
MODES: tuple[PromptMode, ...] = (MARKDOWN, FREE, LOCATE, DESCRIBE, CUSTOM)

REPORT = "ocr"
"""Field of a request with the wishes `{details: bool, pages: "3" or "3-7"}`, and of a choice with the report on the
reading: `{low_confidence, scripts, warnings, lines?}` of the embedded engine, `{warnings}` of other servers."""
UNCERTAIN = "uncertain"
"""Field of `provider_specific_fields` with the words that may be read otherwise: `[{text, alternatives, box, page?}]`,
`box` in thousandths of the image."""
MAX_UNCERTAIN = 50  # words of one answer

_SPECIAL = re.compile(r"<\|/?(?:ref|det|grounding)\|>")
_SPECIAL_TOKENS = ("<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>", "<|grounding|>", "<|/grounding|>")
_HEADER = re.compile(
    r"^(?:<\|ref\|>)?(?P<label>[^\n\[\]]*?)(?:<\|/ref\|>)?(?:<\|det\|>)?"
    r"\[(?P<boxes>\[\s*\d[\d\s,.\[\]]*\])\](?:<\|/det\|>)?[ \t]*$",
    re.MULTILINE,
)
_BOX = re.compile(r"\[([\d\s,.]+)\]")

Box = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class GroundedBlock:
    """One block of an answer: label, boxes `(x1, y1, x2, y2)` up to COORDINATE_MAX, and content, which may be empty."""

    label: str
    boxes: tuple[Box, ...]
    content: str = ""


def mode_named(name: str) -> PromptMode | None:
    """The mode of a name; None for an unknown one."""
    return next((mode for mode in MODES if mode.name == name), None)


def detect_mode(prompt: str) -> PromptMode:
    """The mode of a prompt: `<|ref|>` means Locate, `<|grounding|>` Markdown; else its words decide."""
    if _sought(prompt) is not None:
        return LOCATE
    if GROUNDING_TOKEN in prompt:
        return MARKDOWN
    words = prompt.casefold()
    for mode, phrase in ((FREE, "free ocr"), (DESCRIBE, "describe")):
        if phrase in words:
            return mode
    return CUSTOM


def build_prompt(mode: PromptMode, *, text: str = "", grounding: bool = False) -> str:
    """The prompt to send. `text` is what to find (Locate) or the instruction (Custom); `grounding` is for Custom."""
    if mode is LOCATE:
        return mode.prompt.replace(LOCATE_PLACEHOLDER, text)
    if mode is CUSTOM:
        return f"{IMAGE_TOKEN}\n{GROUNDING_TOKEN if grounding else ''}{text}"
    return mode.prompt


def sought_text(prompt: str) -> str:
    """The text that a Locate prompt asks for; empty when there is none."""
    return (_sought(prompt) or "").strip()


def _sought(prompt: str) -> str | None:
    """The text between the first `<|ref|>` and the next `<|/ref|>`; None when one is missing. Found without a
    pattern, which would search for a missing end from each beginning."""
    _, opened, rest = prompt.partition("<|ref|>")
    text, closed, _ = rest.partition("<|/ref|>")
    return text if opened and closed else None


def wants_details(body: Json) -> bool:
    """Whether a request asks for every line with its box and confidence."""
    wishes = body.get(REPORT)
    return isinstance(wishes, dict) and wishes.get("details") is True


def wanted_pages(body: Json) -> tuple[int, int] | None:
    """First and last page of documents that a request asks for, counted from 1; None for all of them. The schema has
    checked its form. Raises InvalidRequest for a range that ends before it begins."""
    wishes = body.get(REPORT)
    pages = wishes.get("pages") if isinstance(wishes, dict) else None
    if not pages:
        return None
    first, _, last = str(pages).partition("-")
    if not 1 <= int(first) <= int(last or first):
        raise InvalidRequest(
            "ocr.pages: must begin at 1 or later and not end before it begins, for example 3-7", param=f"{REPORT}.pages"
        )
    return int(first), int(last or first)


def strip_image_token(prompt: str) -> str:
    """The prompt without its image placeholders: servers insert their own, and some refuse a second one."""
    return re.sub(r"<image>\n?", "", prompt)


def keep_image_token(prompt: str) -> str:
    """The prompt with exactly one image placeholder, at its head."""
    return f"{IMAGE_TOKEN}\n{strip_image_token(prompt)}"


def strip_special_tokens(text: str) -> str:
    """The text without the tokens `<|ref|>`, `<|det|>` and `<|grounding|>`: `label[[x1, y1, x2, y2]]` remains."""
    return _SPECIAL.sub("", text)


class SpecialTokenFilter:
    """`strip_special_tokens` for a stream: holds back a tail that may be the beginning of a token.

    The results of `feed` for each piece and of `finish` together equal `strip_special_tokens` of the whole text, unless
    removing one token makes another.
    """

    def __init__(self) -> None:
        self._tail = ""

    def feed(self, piece: str) -> str:
        """The text that cannot belong to a token any more."""
        text = strip_special_tokens(self._tail + piece)
        cut = _tail_start(text)
        self._tail = text[cut:]
        return text[:cut]

    def finish(self) -> str:
        """The tail held back: the stream ended inside what was no token."""
        tail, self._tail = self._tail, ""
        return tail


def _tail_start(text: str) -> int:
    """Where the beginning of a token starts at the text's end; the text's length when there is none."""
    start = text.rfind("<", max(0, len(text) - max(map(len, _SPECIAL_TOKENS))))
    if start >= 0 and any(token.startswith(text[start:]) for token in _SPECIAL_TOKENS):
        return start
    return len(text)


def format_boxes(boxes: Iterable[Sequence[int]]) -> str:
    """`[[x1, y1, x2, y2], …]`."""
    return "[" + ", ".join("[" + ", ".join(str(number) for number in box) + "]" for box in boxes) + "]"


def format_block(block: GroundedBlock) -> str:
    """`label[[x1, y1, x2, y2]]`, then the content on the next line, when there is any."""
    header = block.label + format_boxes(block.boxes)
    return f"{header}\n{block.content}" if block.content else header


def parse_blocks(text: str) -> list[GroundedBlock]:
    """The blocks of an answer, with or without the model's tokens. Text before the first block is left out."""
    headers = list(_HEADER.finditer(text))
    blocks = []
    for index, header in enumerate(headers):
        end = headers[index + 1].start() if index + 1 < len(headers) else len(text)
        boxes = tuple(_boxes(header["boxes"]))
        if boxes:
            blocks.append(GroundedBlock(header["label"].strip(), boxes, text[header.end() : end].strip()))
    return blocks


def _boxes(text: str) -> Iterable[Box]:
    for match in _BOX.finditer(text):
        numbers = [round(float(part)) for part in match[1].split(",") if part.strip().replace(".", "", 1).isdigit()]
        if len(numbers) == 4:
            x1, y1, x2, y2 = (min(COORDINATE_MAX, number) for number in numbers)
            yield x1, y1, x2, y2
