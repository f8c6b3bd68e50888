"""Draws an answer's boxes on its image, for people. Knows nothing of how the answer was made.

Boxes are coloured by the kind of block. A label stands where the picture is even, so that it hides no text; a box for
which there is no such place has none. Lines read with low confidence are underlaid.
"""

import io
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.domain import Json
from gateway.errors import EngineMissing, InvalidRequest
from gateway.geometry.boxes import no_such_pages
from gateway.ocr.extras import MISSING, pillow, vision
from gateway.ocr.image.decode import check_size, damaged, open_image, upright_rgb
from gateway.wire.ocr import COORDINATE_MAX, parse_blocks

# An A4 page then has about decode.WORK_PIXELS: more would be reduced again.
RENDER_DPI = 200
# Large formats are rendered smaller than at RENDER_DPI: 36 MB a page. A2 keeps 170 dpi.
MAX_PAGE_PIXELS = 12_000_000
# Documents with more pages are refused: at about 1.3 s a page they take an hour.
MAX_PAGES = 2000


@dataclass(frozen=True, slots=True)
class Document:
    """`pages` yields one encoded image for each of `page_count` pages, the first being number `first` of `total`, and
    can be read once."""

    page_count: int
    pages: Iterator[bytes]
    first: int = 1
    total: int = 1


def open_document(data: bytes, wanted: tuple[int, int] | None = None) -> Document:
    """Opens an image or a PDF. `wanted`: first and last page, counted from 1. Raises InvalidRequest for other, damaged
    or too large data and for pages that there are not, EngineMissing without the extra.

    Damaged TIFF frames raise InvalidRequest only when their page is reached.
    """
    if data[:1024].lstrip().startswith(b"%PDF"):
        return _open_pdf(data, wanted)
    image = open_image(data)
    count = int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1
    first, last = _range(count, wanted)
    if count == 1:
        return Document(1, iter([data]))
    return Document(last - first + 1, _frames(image, range(first - 1, last)), first, count)


def _frames(image: Any, numbers: range) -> Iterator[bytes]:
    for number in numbers:
        try:
            image.seek(number)
            check_size(image.size)
            picture = _png(pillow().ops.exif_transpose(image))
        except InvalidRequest:
            raise
        except Exception as error:  # Pillow raises OSError, SyntaxError, struct.error and others on damaged files
            raise damaged() from error
        yield picture


def _open_pdf(data: bytes, wanted: tuple[int, int] | None) -> Document:
    try:
        import pypdfium2  # noqa: PLC0415 - optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        needs_password = "password" in str(error).casefold()
        reason = "it needs a password" if needs_password else "it is damaged or incomplete"
        raise InvalidRequest(f"the PDF cannot be opened: {reason}") from error
    first, last = _range(len(document), wanted)
    return Document(last - first + 1, _pdf_pages(document, range(first - 1, last)), first, len(document))


def _pdf_pages(document: Any, numbers: range) -> Iterator[bytes]:
    try:
        for number in numbers:
            page = document[number]
            width, height = page.get_size()
            scale = min(RENDER_DPI / 72, math.sqrt(MAX_PAGE_PIXELS / max(1.0, width * height)))
            bitmap = page.render(scale=scale)
            yield _png(bitmap.to_pil())
            bitmap.close()
            page.close()
    finally:
        document.close()


def _range(count: int, wanted: tuple[int, int] | None) -> tuple[int, int]:
    """The first and last page to read. Raises InvalidRequest for too many, and for pages that there are not."""
    first, last = wanted or (1, count)
    if not 1 <= first <= last or first > count:
        raise InvalidRequest(no_such_pages(count))
    last = min(last, count)
    if last - first >= MAX_PAGES:
        raise InvalidRequest(f"the document has {count} pages; at most {MAX_PAGES} are read: choose some with --pages")
    return first, last


def _png(image: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()


# letters stay sharp at a third of the bytes of 95.
JPEG_QUALITY = 85
# Resolution that decides the page's size in print, as scans have it; the picture keeps its pixels.
POINTS = 72
SCAN_DPI = 200
# Width of every code in thousandths of the font's size; lines are stretched to their boxes.
CODE_WIDTH = 500
_UNICODE_MAP = (
    b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Unicode def /CMapType 2 def\n"
    b"1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
    b"1 beginbfrange <0000> <FFFF> <0000> endbfrange\nendcmap end end"
)
_FONT = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /Invisible /Encoding /Identity-H /DescendantFonts [4 0 R]"
    b" /ToUnicode 5 0 R >>"
)
_DESCENDANT = (
    b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Invisible /CIDSystemInfo << /Registry (Adobe)"
    b" /Ordering (Identity) /Supplement 0 >> /DW %d /FontDescriptor 6 0 R >>" % CODE_WIDTH
)
_DESCRIPTOR = (
    b"<< /Type /FontDescriptor /FontName /Invisible /Flags 4 /FontBBox [0 0 500 1000] /ItalicAngle 0 /Ascent 1000"
    b" /Descent 0 /CapHeight 1000 /StemV 80 >>"
)


class SearchablePdf:
    """Collects pages (`add`), then gives the file (`whole`)."""

    def __init__(self) -> None:
        stream = zlib.compress(_UNICODE_MAP)
        cmap = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(stream), stream)
        self._objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", _FONT, _DESCENDANT, cmap, _DESCRIPTOR]
        self._pages: list[int] = []

    def add(self, data: bytes, lines: list[Json]) -> None:
        """A page: its picture's bytes and its lines, `{text, box}`, boxes in thousandths (wire.ocr).

        Raises InvalidRequest for a picture that cannot be read, EngineMissing without the extra.
        """
        image = upright_rgb(open_image(data))
        width, height = (side / SCAN_DPI * POINTS for side in image.size)
        picture = self._object(_picture(image))
        content = b"q %.2f 0 0 %.2f 0 0 cm /P Do Q\n" % (width, height)
        content += b"".join(_text(line, width, height) for line in lines)
        packed = zlib.compress(content)
        stream = self._object(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed))
        page = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.2f %.2f] /Contents %d 0 R /Resources << /Font << /F 3 0 R"
        )
        page += b" >> /XObject << /P %d 0 R >> >> >>"
        self._pages.append(self._object(page % (width, height, stream, picture)))

    def whole(self) -> bytes:
        """The file."""
        kids = b" ".join(b"%d 0 R" % page for page in self._pages)
        self._objects[1] = b"<< /Type /Pages /Count %d /Kids [%b] >>" % (len(self._pages), kids)
        out, places = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
        for number, content in enumerate(self._objects, 1):
            places.append(len(out))
            out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
        out += b"".join(b"%010d 00000 n \n" % place for place in places)
        out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(places) + 1, start)
        return bytes(out)

    def _object(self, content: bytes) -> int:
        self._objects.append(content)
        return len(self._objects)


def _picture(image: Any) -> bytes:
    out = io.BytesIO()
    pillow().ops.exif_transpose(image).save(out, "JPEG", quality=JPEG_QUALITY)
    return (
        b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceRGB /BitsPerComponent 8"
        b" /Filter /DCTDecode /Length %d >>\nstream\n%b\nendstream"
    ) % (*image.size, len(out.getvalue()), out.getvalue())


def _text(line: Json, width: float, height: float) -> bytes:
    """One line in its box: as high as it, stretched to its width. Characters beyond the basic plane become `?`."""
    left, top, right, bottom = (value / COORDINATE_MAX for value in line["box"])
    text = "".join(c if ord(c) <= 0xFFFF else "?" for c in line["text"])
    size = max(1.0, (bottom - top) * height)
    natural = len(text) * CODE_WIDTH / 1000 * size
    if not natural:
        return b""
    stretch = 100 * max(0.01, right - left) * width / natural
    codes = text.encode("utf-16-be").hex().encode()
    place = (left * width, (1 - bottom) * height)
    return b"BT 3 Tr /F %.2f Tf %.2f Tz 1 0 0 1 %.2f %.2f Tm <%b> Tj ET\n" % (size, stretch, *place, codes)


# How much of UNSURE_COLOUR is mixed into the line: seen at once, and the text stays readable.
COLOURS = {"title": "#c62828", "text": "#1565c0", "table": "#2e7d32", "code": "#00838f", "image": "#8e24aa"}
OTHER_COLOUR = "#ef6c00"
UNSURE_COLOUR = (255, 196, 0)
UNSURE_SHARE = 0.35
# Levels, of 256, that the pixels of an even place may span: noise of a scan.
EVEN_LEVELS = 12
# Places tried along each side of a box.
PLACES = 5

Area = tuple[int, int, int, int]


def draw_boxes(data: bytes, answer: str, unsure: Sequence[Sequence[int]] = ()) -> bytes:
    """The upright image as PNG, every block of the answer outlined and labelled. `answer`: text of the grounded
    Markdown mode (wire.ocr); `unsure`: boxes of lines read with low confidence, in thousandths of the image. Raises
    InvalidRequest for an unreadable image, EngineMissing without the extra."""
    image = upright_rgb(open_image(data))
    _, numpy = vision()
    pixels = numpy.array(image)
    for box in unsure:
        left, top, right, bottom = _pixels(image.size, box)
        part = pixels[top : bottom + 1, left : right + 1]
        part[:] = (1 - UNSURE_SHARE) * part + UNSURE_SHARE * numpy.array(UNSURE_COLOUR)
    taken = pixels.astype(numpy.int16).mean(axis=2)
    image = pillow().image.fromarray(pixels)
    draw = pillow().draw.Draw(image)
    stroke = max(2, round(max(image.size) / 600))
    font = pillow().font.load_default(max(12, stroke * 7))
    for block in parse_blocks(answer):
        colour = COLOURS.get(block.label, OTHER_COLOUR)
        for box in block.boxes:
            area = _pixels(image.size, box)
            # Around the box, not on it: boxes end at the ink of their letters.
            area = (area[0] - stroke, area[1] - stroke, area[2] + stroke, area[3] + stroke)
            draw.rectangle(area, outline=colour, width=stroke)
            _label(draw, taken, area, block.label, (colour, stroke, font))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _pixels(size: tuple[int, int], box: Sequence[int]) -> Area:
    """A box in pixels, its sides in order."""
    x1, y1, x2, y2 = (round(value / COORDINATE_MAX * (size[index % 2] - 1)) for index, value in enumerate(box))
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def _label(draw: Any, taken: Any, area: Area, label: str, style: tuple[str, int, Any]) -> None:
    """Writes a label at the first even place around its box, and marks the place as taken."""
    colour, stroke, font = style
    left, top, right, bottom = draw.textbbox((0, 0), label, font=font)
    width, height = round(right - left) + 6, round(bottom - top) + 6
    for x, y in _places(area, width, height, stroke):
        part = taken[max(0, y) : y + height, max(0, x) : x + width]
        if part.shape != (height, width) or part.max() - part.min() > EVEN_LEVELS:
            continue
        draw.rectangle((x, y, x + width - 1, y + height - 1), fill=colour)
        draw.text((x + 3 - left, y + 3 - top), label, font=font, fill="white")
        taken[y : y + height, x : x + width] = 0
        taken[y, x] = 255
        return


def _places(area: Area, width: int, height: int, stroke: int) -> Iterator[tuple[int, int]]:
    """Corners at which a label of this size may stand: above the box, below, beside it, then inside."""
    x1, y1, x2, y2 = area
    along = [x1 + step * max(0, x2 - x1 - width) // (PLACES - 1) for step in range(PLACES)]
    down = [y1 + step * max(0, y2 - y1 - height) // (PLACES - 1) for step in range(PLACES)]
    for y in (y1 - height - stroke, y2 + stroke + 1):
        yield from ((x, y) for x in along)
    for x in (x1 - width - stroke, x2 + stroke + 1):
        yield from ((x, y) for y in down)
    yield from ((x, y) for y in (y1 + stroke, y2 - height - stroke) for x in reversed(along))
