# ruff: noqa: E501 - a row for each kind
"""PDFs of hostile sites: `PDFS` for `bench.hostile_sites`. Written without a look at the reader."""

import zlib
from collections.abc import Callable

Make = Callable[[int], bytes]
PDF = "application/pdf"


def _pdf(objects: dict[int, bytes], root: int = 1) -> bytes:
    out, places = b"%PDF-1.7\n", {}
    for number, body in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    at, count = len(out), max(objects) + 1
    table = b"".join(b"%010d 00000 n \n" % places[n] if n in places else b"0000000000 65535 f \n" for n in range(count))
    return out + b"xref\n0 %d\n%strailer\n<</Size %d/Root %d 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        count,
        table,
        count,
        root,
        at,
    )


def _stream(body: bytes, more: bytes = b"", times: int = 1) -> bytes:
    for _ in range(times):
        body = zlib.compress(body, 9)
    filters = b"/Filter[%s]" % (b"/FlateDecode" * times)
    return b"<</Length %d%s%s>>\nstream\n%s\nendstream" % (len(body), filters, more, body)


def _page(content: bytes, resources: bytes = b"/Font<</F 5 0 R>>", box: bytes = b"0 0 600 800", **more: bytes) -> bytes:
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<<%s>>/MediaBox[%s]>>" % (resources, box),
        4: content,
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    }
    return _pdf(objects | {int(name[1:]): body for name, body in more.items()})


def _shown(unit: bytes, expansion: int = 50) -> Make:
    return lambda size: _page(_stream(b"BT /F 9 Tf 9 TL " + unit * (size * expansion // len(unit)) + b" ET"))


_CMAP = (
    b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange %s endcmap"
)
_FORM = b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R/Y 7 0 R>>/Font<</F 5 0 R>>>>"


def _laughing_forms(size: int) -> bytes:
    """Each form draws the next one ten times."""
    forms = {
        f"o{n}": _stream(
            b"/X Do " * 10, b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>" % (n + 1)
        )
        for n in range(6, 20)
    }
    return _page(_stream(b"/X Do"), b"/XObject<</X 6 0 R>>", o20=_stream(b"BT /F 9 Tf (a) Tj ET", _FORM), **forms)


def _page_tree(size: int) -> bytes:
    """A page many times over."""
    return _pdf(
        {
            1: b"<</Type/Catalog/Pages 2 0 R>>",
            2: b"<</Type/Pages/Kids[%s]/Count %d>>" % (b"3 0 R " * (size // 6), size // 6),
            3: b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>/MediaBox[0 0 9 9]>>",
            4: _stream(b"BT /F 9 Tf (words) Tj ET"),
            5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        }
    )


PDFS: dict[str, tuple[str, Make]] = {
    "pdf of words": (PDF, _shown(b"(words of a page) Tj T* ")),
    "pdf of letters": (PDF, _shown(b"(a) Tj ")),
    "pdf of places": (PDF, _shown(b"1 0 0 1 5 5 Tm (a) Tj ")),
    "pdf of far places": (PDF, _shown(b"1e30 0 0 1e30 -1e30 1e30 Tm (a) Tj ")),
    "pdf of arrays": (PDF, _shown(b"[(a) -999 (b)] TJ ")),
    "pdf of states": (PDF, _shown(b"q ")),
    "pdf of numbers": (PDF, _shown(b"1 ")),
    "pdf of lines": (PDF, lambda size: _page(_stream(b"0 0 m 9 9 l S " * (size * 4)))),
    "pdf of brackets": (PDF, _shown(b"[")),
    "pdf of dictionaries": (PDF, _shown(b"<<")),
    "pdf of parentheses": (PDF, _shown(b"(")),
    "pdf bomb": (PDF, lambda size: _page(_stream(b" " * (size * 200)))),
    "pdf bomb in bomb": (PDF, lambda size: _page(_stream(b" " * 200_000_000, times=3))),
    "pdf filters": (
        PDF,
        lambda size: _page(
            b"<</Length 9/Filter[%s]>>\nstream\n123456789\nendstream" % (b"/ASCIIHexDecode" * (size // 15))
        ),
    ),
    "pdf of itself": (
        PDF,
        lambda size: _page(_stream(b"/X Do " * 1_000), b"/XObject<</X 6 0 R>>", o6=_stream(b"/X Do /X Do", _FORM)),
    ),
    "pdf laughs": (PDF, _laughing_forms),
    "pdf pages": (PDF, _page_tree),
    "pdf pages of pages": (
        PDF,
        lambda size: _pdf(
            {1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2147483647/Parent 2 0 R>>"}
        ),
    ),
    "pdf page count": (PDF, lambda size: _page(_stream(b"BT (a) Tj ET")).replace(b"/Count 1", b"/Count 2147483647")),
    "pdf huge box": (PDF, lambda size: _page(_stream(b"BT /F 9 Tf (a) Tj ET"), box=b"0 0 1e30 1e30")),
    "pdf large box": (PDF, lambda size: _page(_stream(b"0 0 9 9 re f"), box=b"0 0 14400 14400")),
    "pdf box of nothing": (PDF, lambda size: _page(_stream(b"BT /F 9 Tf (a) Tj ET"), box=b"0 0 0 0")),
    "pdf picture": (
        PDF,
        lambda size: _page(
            _stream(b"600 0 0 800 0 0 cm /X Do"),
            b"/XObject<</X 6 0 R>>",
            o6=_stream(
                b"\0" * 1_000,
                b"/Type/XObject/Subtype/Image/Width 100000/Height 100000/ColorSpace/DeviceRGB/BitsPerComponent 8",
            ),
        ),
    ),
    "pdf large picture": (
        PDF,
        lambda size: _page(
            _stream(b"600 0 0 800 0 0 cm /X Do"),
            b"/XObject<</X 6 0 R>>",
            o6=_stream(
                b"\0" * 300_000_000,
                b"/Type/XObject/Subtype/Image/Width 10000/Height 10000/ColorSpace/DeviceRGB/BitsPerComponent 8",
            ),
        ),
    ),
    "pdf many pictures": (
        PDF,
        lambda size: _page(
            _stream(b"600 0 0 800 0 0 cm /X Do " * (size // 100)),
            b"/XObject<</X 6 0 R>>",
            o6=_stream(
                b"\0" * 9_000_000,
                b"/Type/XObject/Subtype/Image/Width 3000/Height 3000/ColorSpace/DeviceGray/BitsPerComponent 8",
            ),
        ),
    ),
    "pdf map": (
        PDF,
        lambda size: _page(
            _stream(b"BT /F 9 Tf <00010002> Tj ET"),
            b"/Font<</F 6 0 R>>",
            o6=b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[8 0 R]/ToUnicode 7 0 R>>",
            o7=_stream(_CMAP % (b"100 beginbfrange " + b"<0000> <FFFF> <0041> " * (size // 3) + b"endbfrange")),
            o8=b"<</Type/Font/Subtype/CIDFontType2/BaseFont/X/CIDSystemInfo<</Registry(A)/Ordering(I)/Supplement 0>>/W[0 2147483647 5]>>",
        ),
    ),
    "pdf type 3 of itself": (
        PDF,
        lambda size: _page(
            _stream(b"BT /F 9 Tf (aaaa) Tj ET"),
            b"/Font<</F 6 0 R>>",
            o6=b"<</Type/Font/Subtype/Type3/FontBBox[0 0 9 9]/FontMatrix[1 0 0 1 0 0]/FirstChar 97/LastChar 97/Widths[9]/CharProcs<</a 7 0 R>>/Encoding<</Differences[97/a]>>/Resources<</Font<</F 6 0 R>>>>>>",
            o7=_stream(b"9 0 0 0 9 9 d1 BT /F 9 Tf (aaaa) Tj ET"),
        ),
    ),
    "pdf tiles": (
        PDF,
        lambda size: _page(
            _stream(b"/Pattern cs /P scn 0 0 600 800 re f"),
            b"/Pattern<</P 6 0 R>>",
            o6=_stream(
                b"0 0 1 1 re f",
                b"/Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 1 1]/XStep .0001/YStep .0001/Resources<<>>",
            ),
        ),
    ),
    "pdf without a table": (PDF, lambda size: b"%PDF-1.7\n" + b"1 0 obj <</Type/Page>> endobj\n" * (size // 30)),
    "pdf of objects": (
        PDF,
        lambda size: b"%PDF-1.7\n" + b"".join(b"%d 0 obj [] endobj\n" % n for n in range(size // 20)),
    ),
    "pdf table of itself": (PDF, lambda size: _page(_stream(b"")).replace(b"/Root", b"/Prev 9/Root")),
    "pdf of nothing": (PDF, lambda size: b"%PDF-1.7"),
    "html as pdf": (PDF, lambda size: b"<p>words</p>" * (size // 12)),
}
