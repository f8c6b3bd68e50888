"""A PDF of one page drawn by given operators."""

_PICTURE = (
    b"<</Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray/Length 1>>"
    b"\nstream\n\x80\nendstream"
)


def drawn_pdf(content: str) -> bytes:
    """`/F` is Helvetica, `/I` a gray picture, `/G` a state without opacity; the page is 600 points by 800."""
    stream = content.encode("cp1252")
    resources = b"<</Font<</F 5 0 R>>/XObject<</I 6 0 R>>/ExtGState<</G<</ca 0>>>>>>"
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources" + resources + b">>",
        4: b"<</Length %d>>\nstream\n%s\nendstream" % (len(stream), stream),
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        6: _PICTURE,
    }
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % each for each in objects.items())
    return b"%PDF-1.7\n" + body + b"trailer\n<</Size 20/Root 1 0 R>>\nstartxref\n0\n%%EOF"
