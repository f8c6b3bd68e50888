"""Checks the ZIP archive of an Office document before any reader opens it: entries, sizes, ratio, XML entities.

Reads the directory first, then inflates the XML parts once, within the declared sizes. Knows no format. Raises
FetchFailed.
"""

import contextlib
import io
import zipfile

from gateway.engines.fetch.errors import FetchFailed

MAX_ENTRIES = 5_000
MAX_BYTES = 150_000_000
MAX_RATIO = 120
SMALL_BYTES = 5_000_000
"""Bounds of one document: files in it, their sizes together, and these sizes over the archive's own where they are more
than SMALL_BYTES. Chosen: a book with a picture a page has 1,000 files; XML shrinks to a tenth or twentieth. At half,
large sheets are refused; at double, a bomb fills twice the memory, which the parse process limits as well."""
XML_NAMES = (".xml", ".rels", ".vml")
PIECE_BYTES = 1 << 20


def checked_archive(body: bytes) -> zipfile.ZipFile:
    """The opened archive. Raises FetchFailed (`unparsable`, `too_large`)."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(body))
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        if len(entries) > MAX_ENTRIES or total > MAX_BYTES or total > max(SMALL_BYTES, MAX_RATIO * len(body)):
            raise FetchFailed(
                f"the document unpacks to more than is read: at most {MAX_ENTRIES} files, {MAX_BYTES // 1_000_000} MB"
                f" and {MAX_RATIO} times its size",
                "too_large",
            )
        for entry in entries:
            if entry.flag_bits & 1:
                raise FetchFailed("the document is protected by a password", "unparsable")
            if entry.filename.lower().endswith(XML_NAMES):
                _refuse_entities(archive, entry)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError) as error:
        raise FetchFailed("the document is damaged and could not be read", "unparsable") from error
    return archive


def _refuse_entities(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Raises FetchFailed for a document type declaration, the only place of entities: Office documents have none."""
    tail = b""
    with contextlib.suppress(zipfile.BadZipFile), archive.open(entry) as part:  # a damaged part costs only itself
        while piece := part.read(PIECE_BYTES):
            # UTF-16 has a zero byte beside each ASCII letter.
            window = (tail + piece).replace(b"\0", b"").upper()
            if b"<!DOCTYPE" in window or b"<!ENTITY" in window:
                raise FetchFailed("the document declares XML entities, which are not read", "unparsable")
            tail = piece[-32:]
