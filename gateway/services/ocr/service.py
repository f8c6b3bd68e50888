"""OCR through chat completions: one upstream call for each image or page, in order, and one answer made of theirs.

The completion service does the calls (upstreams, retries, normal forms), an ImageLoader the images, Documents the
pages of files. Images are loaded and files opened before the first call. Answers are joined whole, or as one stream.
"""

from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing
from typing import Protocol, TypeVar

from gateway.domain import EventStream, Json, RequestStats
from gateway.errors import GatewayError, InvalidRequest, UpstreamRefused, UpstreamTimeout
from gateway.ports import OwnUseCounter, PictureText
from gateway.resilience.fair_queue import WorkTime
from gateway.services.ocr.documents import Documents, PagedFile
from gateway.services.ocr.images import Image, ImageLoader
from gateway.services.ocr.joined_answers import JoinedStream, join
from gateway.services.ocr.request import OcrInput, OcrRequest, read_request
from gateway.wire import ocr as wire
from gateway.wire.untrusted_json import table_in

IMAGE_CODES = ("invalid_image_format", "image_too_large", "invalid_image_url", "ocr_failed", "ocr_timeout")
"""Error codes of an engine's refusals that are about one image."""
_T = TypeVar("_T")
_MARKDOWN = wire.build_prompt(wire.CUSTOM, text="Convert the document to markdown.")


class Completions(Protocol):
    """One chat call to the model named in the body; implemented by `services.completion.service`."""

    async def complete(self, body: Json, stats: RequestStats) -> Json:
        """A normal `chat.completion` object. Raises GatewayError."""
        ...

    def stream(self, body: Json, stats: RequestStats) -> EventStream:
        """Normal `chat.completion.chunk` events, ended by `[DONE]`. Raises GatewayError."""
        ...


class OcrService:
    """Answers chat requests to models of kind `ocr`."""

    def __init__(self, completions: Completions, images: ImageLoader, documents: Documents) -> None:
        self._completions = completions
        self._images = images
        self._documents = documents

    async def complete(self, body: Json, stats: RequestStats) -> Json:
        """A `chat.completion` object; its choice's `provider_specific_fields` has `images: [{width, height, page?}]`
        and `ocr` (see `joined_answers.reported`).

        A page of a document that cannot be read is left out with a warning, unless none can be. Raises InvalidRequest,
        `param` naming the part, and what the completion service raises.
        """
        request = read_request(body)
        pages = _Pages(await self._opened(request, body, stats))
        answers: list[Json] = []
        images: list[Image] = []
        async with aclosing(self._drawn(pages, stats)) as drawn:
            async for image in drawn:
                try:
                    call = self._completions.complete(_call(body, request, image), stats)
                    answers.append(await self._in_time(call, image))
                except GatewayError as error:
                    pages.leave_out(image, error)
                else:
                    images.append(image)
        if not answers:
            raise pages.nothing_read()
        return join(answers, images, pages.left)

    async def stream(self, body: Json, stats: RequestStats) -> EventStream:
        """`chat.completion.chunk` events of all images as one answer, ended by `[DONE]`. Raises as `complete`."""
        request = read_request(body)
        pages = _Pages(await self._opened(request, body, stats))
        joined = JoinedStream()
        async with aclosing(self._drawn(pages, stats)) as drawn:
            async for image in drawn:
                joined.begin(image)
                try:
                    async with aclosing(self._completions.stream(_call(body, request, image), stats)) as events:
                        async for batch in self._all_in_time(events, image):
                            if visible := joined.take(batch):
                                yield visible
                except GatewayError as error:
                    pages.leave_out(image, error)
        if not joined.is_finished:
            raise pages.nothing_read()
        yield joined.end(pages.left)

    async def _opened(self, request: OcrRequest, body: Json, stats: RequestStats) -> list[Image | PagedFile]:
        """All images loaded and all files opened, in the caller's order."""
        wanted = wire.wanted_pages(body)
        opened: list[OcrInput | PagedFile] = []
        for source in request.sources:
            opened.append(await self._documents.open(source, wanted, stats.key_id) if source.is_file else source)
        images = iter(await self._images.load_all([one for one in opened if isinstance(one, OcrInput)], stats.key_id))
        return [next(images) if isinstance(one, OcrInput) else one for one in opened]

    async def _drawn(self, pages: "_Pages", stats: RequestStats) -> AsyncGenerator[Image, None]:
        """Every image, and every page of every document as one."""
        for one in pages.opened:
            if isinstance(one, Image):
                yield one
                continue
            for number in one.pages:
                try:
                    image = await self._documents.image(one, number, stats.key_id)
                except InvalidRequest as error:
                    pages.leave_out(Image("", 0, 0, one.where, number), error)
                    continue
                yield image
            if one.left:
                pages.left.append(one.left)

    async def _in_time(self, call: Awaitable[_T], image: Image) -> _T:
        """The call's result. Raises UpstreamTimeout for a page of a document that takes too long."""
        if not image.page:
            return await call
        return await self._within(WorkTime(self._documents.limits.page_timeout_s), call)

    async def _all_in_time(self, events: EventStream, image: Image) -> EventStream:
        """The batches of a stream. Raises UpstreamTimeout, as `_in_time`."""
        page_time = WorkTime(self._documents.limits.page_timeout_s)
        while True:
            following = anext(events, None)
            batch = await (self._within(page_time, following) if image.page else following)
            if batch is None:
                return
            yield batch

    async def _within(self, page_time: WorkTime, call: Awaitable[_T]) -> _T:
        try:
            async with page_time:
                return await call
        except TimeoutError:
            limit_s = self._documents.limits.page_timeout_s
            raise UpstreamTimeout(f"reading it took longer than {limit_s:g} s") from None


class _Pages:
    """What one request wants read, and what of it was not: `left` has a sentence for each."""

    def __init__(self, opened: Sequence[Image | PagedFile]) -> None:
        self.opened = opened
        self.left: list[str] = []
        self._first: InvalidRequest | None = None

    def leave_out(self, image: Image, error: GatewayError) -> None:
        """Notes that a page of a document was not read. Raises the error, at the image's place where it is about it,
        for an image that is no such page, and for what no other page would escape."""
        about_image = isinstance(error, UpstreamRefused) and error.code in IMAGE_CODES
        if not image.page:
            raise InvalidRequest(error.message, param=image.where, code=error.code) if about_image else error
        if not (about_image or isinstance(error, InvalidRequest | UpstreamTimeout)):
            raise error
        self.left.append(f"page {image.page} was not read: {error.message}")
        if self._first is None:
            self._first = InvalidRequest(
                f"no page of the file could be read; page {image.page}: {error.message}",
                param=image.where,
                code="invalid_file",
            )

    def nothing_read(self) -> InvalidRequest:
        """The error of a request of whose pages none was read."""
        return self._first or InvalidRequest("the file has no page that could be read", code="invalid_file")


def _call(body: Json, request: OcrRequest, image: Image) -> Json:
    """The body for one image: the image first, as DeepSeek-OCR's servers expect it."""
    content = [{"type": "image_url", "image_url": {"url": image.url}}, {"type": "text", "text": request.prompt}]
    return {**body, "messages": [{"role": "user", "content": content}]}


class OwnOcr:
    """Implements ports.PictureOcr with a model of kind `ocr`, for pages of documents that hold no text."""

    def __init__(self, ocr: OcrService, model: str, own_use: OwnUseCounter) -> None:
        """`own_use`: charges the keys for whom pages are read."""
        self._ocr = ocr
        self._model = model
        self._own_use = own_use

    async def text_of(self, url: str, owner: str, *, plain: bool) -> PictureText:
        """See ports.PictureOcr."""
        prompt = wire.FREE.prompt if plain else _MARKDOWN
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": prompt}]
        body = {"model": self._model, "messages": [{"role": "user", "content": content}]}
        stats = RequestStats(key_id=owner)
        async with self._own_use.charged(stats):
            answer = await self._ocr.complete(body, stats)
        choice = answer["choices"][0]
        report = table_in(table_in(choice, "provider_specific_fields"), wire.REPORT)
        return PictureText(choice["message"]["content"], report.get("low_confidence") is True)
