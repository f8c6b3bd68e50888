"""PDFs written by hand: of given objects, and of one page drawn by given operators."""

from collections.abc import Sequence

_PICTURE = (
    b"<</Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray/Length 1>>"
    b"\nstream\n\x80\nendstream"
)


def pdf_stream(content: bytes, more: bytes = b"") -> bytes:
    """An object that is a stream; `more`: of its dictionary."""
    return b"<<%s/Length %d>>\nstream\n%s\nendstream" % (more, len(content), content)


def pdf_of(objects: Sequence[bytes], more: bytes = b"") -> bytes:
    """A PDF of objects numbered from 1, of which the first is the catalog; `more`: of its trailer."""
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % each for each in enumerate(objects, 1))
    return b"%%PDF-1.7\n%btrailer\n<</Size %d/Root 1 0 R%b>>\nstartxref\n0\n%%%%EOF" % (body, len(objects) + 1, more)


PAGES = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
PDF_PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>"
HELVETICA = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def drawn_pdf(content: str, title: bytes = b"()") -> bytes:
    """`/F` is Helvetica, `/I` a gray picture, `/G` a state without opacity; the page is 600 points by 800."""
    resources = b"<</Font<</F 5 0 R>>/XObject<</I 6 0 R>>/ExtGState<</G<</ca 0>>>>>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources%b>>" % resources
    drawn = pdf_stream(content.encode("cp1252"))
    return pdf_of([CATALOG, PAGES, page, drawn, HELVETICA, _PICTURE, b"<</Title %b>>" % title], b"/Info 7 0 R")
