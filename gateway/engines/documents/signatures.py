"""How the body of a document begins. Apart from `documents`, as the server must not import what reads them."""

SNIFFED_BYTES = 1024
"""Beginning of a body that shows its kind: declarations and root elements are there."""
ZIP = b"PK\x03\x04"


def is_pdf(body: bytes) -> bool:
    """Whether a body begins as a PDF does, whatever its Content-Type."""
    return body[:SNIFFED_BYTES].lstrip()[:5] == b"%PDF-"


def is_document(body: bytes) -> bool:
    """Whether a body may be a PDF or Office document, which take longer to read than pages."""
    return is_pdf(body) or body.startswith(ZIP)
