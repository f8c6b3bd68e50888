"""Writes a searchable PDF: each page its picture, with the text that was read lying invisibly over it.

The font has no glyphs, as nothing of it is drawn; a map gives each code its character, so that any script can be found
and copied. Source: PDF 1.7 (ISO 32000-1), 9.3.6 (text rendering mode 3), 9.7 (composite fonts), read 2026-11-22.
"""

import io
import zlib
from typing import Any

from gateway.domain import Json
from gateway.ocr.extras import pillow
from gateway.ocr.image.decode import open_image, upright_rgb
from gateway.wire.ocr import COORDINATE_MAX

JPEG_QUALITY = 85
"""Chosen: letters stay sharp at a third of the bytes of 95. At half, ringing shows around them; double there is not."""
POINTS = 72
SCAN_DPI = 200
"""Resolution that decides the page's size in print, as scans have it; the picture keeps its pixels."""
CODE_WIDTH = 500
"""Width of every code in thousandths of the font's size; lines are stretched to their boxes."""
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
