"""Reads an OCR request: the prompt, and its images and files as pictures that an engine takes.

A request is one user message with text, image and file parts (chat's format). Images are data URLs or addresses, and
are turned upright and scaled; each page of a PDF or TIFF is drawn when it is asked for, so that a document never lies
in memory as pictures.
"""

import asyncio
import base64
import binascii
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gateway.domain import Json
from gateway.errors import GatewayError, InvalidRequest
from gateway.geometry.boxes import no_such_pages
from gateway.ports import ImageSource, PagePicture, PagePictures
from gateway.services.completion.images import MAX_IMAGE_BYTES, MAX_IMAGES
from gateway.wire import ocr as wire
from gateway.wire.image_header import ALLOWED, ImageInfo, check_size, media_type, read_header
from gateway.wire.untrusted_json import table_in

# Decodes images and files that came inside a request, and encodes them: data URLs with base64 (RFC 2397).
#
# Long texts are coded in slices, so that other requests on the event loop need not wait.

SLICE_CHARS = 1 << 19
"""base64 characters coded without a pause (1 ms); a multiple of four, so that each slice decodes by itself."""


def too_large(most_bytes: int) -> InvalidRequest:
    """The refusal of an image."""
    return InvalidRequest(
        f"the image is larger than {most_bytes >> 20} MiB; send a smaller one", code="image_too_large"
    )


def checked_file_data(data: Any, where: str) -> str:
    """The data of a file part. Raises InvalidRequest, code `invalid_file`, for one without data."""
    if not isinstance(data, str) or not data:
        raise InvalidRequest(
            "a file must come inside the request, as a base64 data URL in `file_data`; stored files and URLs are"
            " not supported",
            param=where,
            code="invalid_file",
        )
    return data


async def decode_file(data: str, where: str, most_bytes: int) -> tuple[bytes, str]:
    """The bytes of a file part's data, a data URL or bare base64, and its declared media type or "".

    Raises InvalidRequest, code `invalid_file`, `param` = `where`.
    """
    try:
        if not data.startswith("data:"):
            return await _decode_from(data, 0, most_bytes), ""
        return await decode_data_url(data, most_bytes), data[5 : data.find(",")].split(";", 1)[0]
    except InvalidRequest as error:
        raise InvalidRequest(
            f"the file must be a base64 data URL of at most {most_bytes / (1 << 20):.4g} MiB",
            param=where,
            code="invalid_file",
        ) from error


async def decode_data_url(url: str, most_bytes: int = MAX_IMAGE_BYTES) -> bytes:
    """The bytes of `data:[type][;parameter]…;base64,DATA` (RFC 2397).

    Raises InvalidRequest, codes `invalid_image_url` and `image_too_large`.
    """
    comma = url.find(",")
    if comma < 0 or url[:comma].rsplit(";", 1)[-1].strip().lower() != "base64":
        raise InvalidRequest("a data URL must have the form data:<media type>;base64,<data>", code="invalid_image_url")
    return await _decode_from(url, comma + 1, most_bytes)


async def _decode_from(url: str, start: int, most_bytes: int) -> bytes:
    """The bytes of the base64 behind the index `start`, raising as `decode_data_url`."""
    if (len(url) - start) // 4 * 3 > most_bytes + 65_536:
        raise too_large(most_bytes)
    try:
        data = await decode_base64(url, start)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest(
            "the data URL's base64 is not valid; send standard base64 with padding", code="invalid_image_url"
        ) from error
    if len(data) > most_bytes:
        raise too_large(most_bytes)
    return data


async def decode_base64(text: str, start: int = 0) -> bytes:
    """The bytes of the base64 text from index `start` on; white space is allowed.

    Equals `base64.b64decode("".join(text[start:].split()), validate=True)`, in slices. Raises binascii.Error, or
    ValueError when the text is not ASCII.
    """
    # BytesIO grows in place and returns its bytes without a copy; joining a list would take some milliseconds.
    data = io.BytesIO()
    rest = ""
    for at in range(start, len(text), SLICE_CHARS):
        chars = rest + "".join(text[at : at + SLICE_CHARS].split())
        whole = len(chars) - len(chars) % 4
        rest = chars[whole:]
        if "=" in chars[:whole] and text[at + SLICE_CHARS :].strip():
            raise binascii.Error("padding inside")
        data.write(base64.b64decode(chars[:whole], validate=True))
        await asyncio.sleep(0)
    if rest:
        raise binascii.Error("incomplete")
    return data.getvalue()


async def encode_base64(data: bytes) -> str:
    """Equals `base64.b64encode(data).decode()`, in slices."""
    step = SLICE_CHARS // 4 * 3
    parts = []
    for start in range(0, len(data), step):
        parts.append(base64.b64encode(data[start : start + step]).decode("ascii"))
        await asyncio.sleep(0)
    return "".join(parts)


EXPECTED = (
    'send one user message whose content is a list of a {"type": "text"} part with the instruction '
    'and 1 to 8 {"type": "image_url"} or {"type": "file"} parts'
)
"""What is allowed, for error messages."""


@dataclass(frozen=True, slots=True)
class OcrInput:
    """An image's URL or a file's data, and the path of its field in the request."""

    data: str
    where: str
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class OcrRequest:
    """`sources` in the caller's order."""

    prompt: str
    sources: tuple[OcrInput, ...]


def read_request(body: Json) -> OcrRequest:
    """The prompt, images and files of a chat body. Raises InvalidRequest, `param` naming the part.

    Codes: `missing_image`, `missing_text`, `invalid_image_url`, `invalid_file`, `too_many_images`, else
    `invalid_value`.
    """
    if body.get("n") not in (None, 1):
        raise InvalidRequest("n must be 1: OCR gives one answer", param="n")
    number, message = _user_message(body.get("messages"))
    where = f"messages[{number}].content"
    content = message.get("content")
    if not isinstance(content, list):
        raise InvalidRequest(f"the message has no image; {EXPECTED}", param=where, code="missing_image")
    texts: list[str] = []
    sources: list[OcrInput] = []
    for index, part in enumerate(content):
        _check_part(part, f"{where}[{index}]", texts, sources)
    if not sources:
        raise InvalidRequest(f"the message has no image; {EXPECTED}", param=where, code="missing_image")
    if not texts:
        raise InvalidRequest(f"the message has no text part; {EXPECTED}", param=where, code="missing_text")
    prompt = "\n".join(texts)
    if not wire.strip_image_token(prompt).strip():
        raise InvalidRequest("the text part is empty; it must hold the instruction", param=where, code="missing_text")
    return OcrRequest(prompt, tuple(sources))


def _user_message(messages: Any) -> tuple[int, Json]:
    """Index and value of the one user message. System and developer messages are allowed and not sent: the model has no
    such role."""
    if not isinstance(messages, list) or not messages:
        raise InvalidRequest(f"messages must not be empty; {EXPECTED}", param="messages")
    users: list[tuple[int, Json]] = []
    for number, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "user":
            users.append((number, message))
        elif role not in ("system", "developer"):
            raise InvalidRequest(f"OCR takes no earlier messages; {EXPECTED}", param=f"messages[{number}]")
    if len(users) != 1:
        at = f"messages[{users[1][0]}]" if users else "messages"
        raise InvalidRequest(f"the request has {len(users)} user messages; {EXPECTED}", param=at)
    return users[0]


def _check_part(part: Any, where: str, texts: list[str], sources: list[OcrInput]) -> None:
    """Adds the part's text to `texts`, or its image or file to `sources`. Raises InvalidRequest."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text":
        if not isinstance(part.get("text"), str):
            raise InvalidRequest("a text part needs a string `text`", param=f"{where}.text")
        texts.append(part["text"])
        return
    if kind == "image_url":
        source = _image(part, where)
    elif kind == "file":
        source = _file(part, where)
    else:
        raise InvalidRequest("a part's type must be `text`, `image_url` or `file`", param=f"{where}.type")
    if len(sources) == MAX_IMAGES:
        raise InvalidRequest(
            f"a request may have at most {MAX_IMAGES} images and files", param=where, code="too_many_images"
        )
    sources.append(source)


def _image(part: Json, where: str) -> OcrInput:
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str) or not url.strip():
        raise InvalidRequest(
            "an image part needs image_url.url: an http(s) URL or a base64 data URL",
            param=f"{where}.image_url.url",
            code="invalid_image_url",
        )
    return OcrInput(url.strip(), f"{where}.image_url.url")


def _file(part: Json, where: str) -> OcrInput:
    data = checked_file_data(table_in(part, "file").get("file_data"), f"{where}.file")
    return OcrInput(data, f"{where}.file", is_file=True)


MAX_PIXELS = 50_000_000
"""Most pixels of an image: an A4 page scanned at 600 dpi has 35 million. One decoded image takes 150 MB of memory."""
MAX_CONCURRENT_FETCHES = 4
"""Images of one request that are loaded at the same time; each may take 20 MiB and as much again as base64."""


class PixelWork(Protocol):
    """Turns an image upright, puts transparent ones on white and keeps the first frame."""

    async def plain(self, data: bytes, info: ImageInfo, owner: str) -> str | None:
        """The new image as a data URL, None for one that may be sent as it is; the work is the key `owner`'s.

        Raises InvalidRequest when the image cannot be decoded, Overloaded."""
        ...


@dataclass(frozen=True, slots=True)
class Image:
    """An image ready to be sent: a data URL, its upright size in pixels, the path of its field in the request, and its
    `page` in a document of several, else 0."""

    url: str
    width: int
    height: int
    where: str
    page: int = 0


class ImageLoader:
    """Loads images. `source` fetches http(s) URLs; without `pixel_work` images are sent as they came."""

    def __init__(self, source: ImageSource, pixel_work: PixelWork | None = None) -> None:
        self._source = source
        self._pixel_work = pixel_work

    async def load_all(self, sources: Sequence[OcrInput], owner: str = "") -> list[Image]:
        """The images of URLs for the key `owner`, in the same order. All are checked before this returns.

        Raises InvalidRequest, `param` naming the part; codes as in `wire.image_header`, or `invalid_image_url`.
        """
        turn = asyncio.Semaphore(MAX_CONCURRENT_FETCHES)
        tasks: list[asyncio.Task[Image]] = []
        try:
            async with asyncio.TaskGroup() as group:
                tasks.extend(group.create_task(self._load(source, turn, owner)) for source in sources)
        except* GatewayError as errors:
            # Any of several errors will do: the caller corrects one after the other.
            raise _first(errors) from None
        return [task.result() for task in tasks]

    async def _load(self, source: OcrInput, turn: asyncio.Semaphore, owner: str) -> Image:
        url = source.data
        try:
            async with turn:
                data = await self._fetch(url)
                info = read_header(data)
                check_size(info, MAX_PIXELS)
                mime = info.mime
                plain = await self._pixel_work.plain(data, info, owner) if self._pixel_work is not None else None
                # An image that came as the data URL it would be sent as is not encoded again.
                is_same = url.startswith(f"data:{mime};base64,") and _is_unbroken(url, mime, data)
                if plain is None:
                    plain = url if is_same else f"data:{mime};base64,{await encode_base64(data)}"
                return Image(plain, info.width, info.height, source.where)
        except InvalidRequest as error:
            error.param = source.where
            raise

    async def _fetch(self, url: str) -> bytes:
        scheme = url[:16].split(":", 1)[0].strip().lower()
        if scheme == "data":
            return await decode_data_url(url)
        if scheme not in ("http", "https"):
            raise InvalidRequest(
                "an image must be an http or https URL or a base64 data URL (data:image/png;base64,…)",
                code="invalid_image_url",
            )
        data = await self._source.fetch_image(url, MAX_IMAGE_BYTES)
        if len(data) > MAX_IMAGE_BYTES:
            raise too_large(MAX_IMAGE_BYTES)
        return data


def _is_unbroken(url: str, mime: str, data: bytes) -> bool:
    """True when the URL's base64 has no white space, so that it is the same as `data` encoded again."""
    return len(url) - len(f"data:{mime};base64,") == -(-len(data) // 3) * 4


def _first(errors: BaseExceptionGroup[GatewayError]) -> GatewayError:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, GatewayError)
    return error


def image_infos(images: list[Image]) -> list[Json]:
    """`[{width, height, page?}]` for `provider_specific_fields.images`: the upright sizes that boxes refer to, and the
    page of a document of several."""
    return [
        {"width": image.width, "height": image.height} | ({"page": image.page} if image.page else {})
        for image in images
    ]


_PDF_HEAD_BYTES = 1024
"""PDF readers accept bytes before the header within the first 1,024 (PDF 1.7, implementation note 13)."""


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """Pages of one document that a request reads, its bytes, and seconds for one page."""

    max_pages: int = 50
    max_bytes: int = 20 * 1024 * 1024
    page_timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class PagedFile:
    """A file of several pages. `pages`: the numbers of those to read; `total`: how many it has; `left`: a sentence on
    pages that the limit leaves out, or ""."""

    where: str
    body: bytes
    first: PagePicture
    pages: range
    total: int
    left: str


class Documents:
    """Opens the files of requests and draws their pages."""

    def __init__(self, pictures: PagePictures, limits: DocumentLimits) -> None:
        self._pictures = pictures
        self.limits = limits

    async def open(self, source: OcrInput, wanted: tuple[int, int] | None, owner: str) -> PagedFile | OcrInput:
        """The document in a file part; an image in one is a Source like those of image parts.

        `wanted`: first and last page, None for all. Raises InvalidRequest, code `invalid_file`, `param` naming the
        part; EngineMissing, Overloaded.
        """
        body, _ = await decode_file(source.data, source.where, self.limits.max_bytes)
        kind = media_type(body)
        if kind not in (None, "image/tiff"):
            if wanted is not None and wanted[0] > 1:
                raise InvalidRequest(no_such_pages(1), param=source.where, code="invalid_file")
            data = source.data.partition(",")[2] or source.data
            return OcrInput(f"data:{kind};base64,{data}", source.where)
        if kind is None and not body[:_PDF_HEAD_BYTES].lstrip().startswith(b"%PDF"):
            raise InvalidRequest(
                f"the file is neither a PDF nor a {ALLOWED} image; a text model takes other documents",
                param=source.where,
                code="invalid_file",
            )
        first, last = wanted or (1, 0)
        try:
            picture = await self._pictures.picture(body, first, owner)
        except InvalidRequest as error:
            raise InvalidRequest(error.message, param=source.where, code="invalid_file") from error
        last = min(last or picture.pages, picture.pages)
        pages = range(first, min(last, first + self.limits.max_pages - 1) + 1)
        return PagedFile(source.where, body, picture, pages, picture.pages, _left_out(pages, last, picture.pages))

    async def image(self, document: PagedFile, number: int, owner: str) -> Image:
        """One of the document's pages. Raises InvalidRequest, EngineMissing, Overloaded."""
        drawn = document.first
        if number != document.pages[0]:
            drawn = await self._pictures.picture(document.body, number, owner)
        return Image(drawn.url, drawn.width, drawn.height, document.where, number if document.total > 1 else 0)


def _left_out(pages: range, last: int, total: int) -> str:
    if pages[-1] == last:
        return ""
    return (
        f"of {total} pages {pages[0]} to {pages[-1]} were read, as many as one request may have; ask for more with"
        f' "ocr": {{"pages": "{pages[-1] + 1}-{last}"}}'
    )
