"""OCR through chat completions: one upstream call for each image or page, in order, and one answer made of theirs.

The completion service does the calls (upstreams, retries, normal forms), an ImageLoader the images, Documents the
pages of files. Images are loaded and files opened before the first call. Answers are joined whole, or as one stream.
"""

from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, Protocol, TypeVar

from gateway.domain import Event, EventBatch, EventStream, Json, RequestStats
from gateway.errors import GatewayError, InvalidRequest, UpstreamRefused, UpstreamTimeout
from gateway.ports import PictureText
from gateway.resilience.fair_queue import WorkTime
from gateway.services.ocr.request import (
    Documents,
    Image,
    ImageLoader,
    OcrInput,
    OcrRequest,
    PagedFile,
    image_infos,
    read_request,
)
from gateway.wire import ocr as wire
from gateway.wire import sse
from gateway.wire.untrusted_json import list_in, table_in, tables_in

# Makes one answer of the answers on several images: whole, or as one stream.

SEPARATOR = "\n\n"
"""Between the texts of two images."""
FINISH_ORDER = ("content_filter", "length")
"""The finish reason of a joined answer is the first of these that any image has; else that of the last image."""


def heading(image: Image) -> str:
    """What stands before the text of a page of a document of several; "" for other images."""
    return f"<!-- page {image.page} -->{SEPARATOR}" if image.page else ""


def join(answers: list[Json], images: list[Image], left: Sequence[str] = ()) -> Json:
    """One completion made of one for each image. `left`: warnings of what was not read."""
    answer = answers[0]
    choice = answer["choices"][0]
    choices = [one["choices"][0] for one in answers]
    choice["message"]["content"] = SEPARATOR.join(
        heading(image) + (one["message"].get("content") or "") for one, image in zip(choices, images, strict=True)
    )
    choice["finish_reason"] = worst([one.get("finish_reason") for one in choices])
    fields = merged([one.get("provider_specific_fields") or {} for one in choices])
    reports = [one.pop(wire.REPORT, None) or {} for one in choices]
    choice["provider_specific_fields"] = {
        **fields,
        "images": image_infos(images),
        **reported(reports, fields, images, left),
    }
    usages = [one["usage"] for one in answers if one.get("usage")]
    if usages:
        answer["usage"] = summed(usages)
    return answer


def reported(reports: list[Json], fields: Json, images: Sequence[Image], left: Sequence[str] = ()) -> Json:
    """`{ocr, warnings?, uncertain?}` of the reports on the images, in order, `ocr` being `{low_confidence?, scripts?,
    warnings, lines?}`; with several images each warning names its own, and the `page` of a line or of an uncertain word
    is its number among them. `fields` may have warnings; `left` are more of them."""
    report: Json = {"warnings": list(left)}
    uncertain: list[Json] = []
    for number, (one, image) in enumerate(zip(reports, images, strict=True), 1):
        where = f"page {image.page}: " if image.page else f"image {number}: " if len(reports) > 1 else ""
        report["warnings"] += [f"{where}{warning}" for warning in list_in(one, "warnings")]
        if isinstance(one.get("low_confidence"), bool):
            report["low_confidence"] = report.get("low_confidence", False) or one["low_confidence"]
        if isinstance(one.get("scripts"), list):
            known = report.setdefault("scripts", [])
            known += [script for script in one["scripts"] if script not in known]
        if isinstance(one.get("lines"), list):
            report.setdefault("lines", []).extend({**line, "page": number} for line in tables_in(one, "lines"))
        pages = {"page": number} if len(reports) > 1 else {}
        uncertain += [{**word, **pages} for word in tables_in(one, wire.UNCERTAIN)]
    warnings = [*(fields.get("warnings") or ()), *report["warnings"]]
    told = {"warnings": warnings, wire.UNCERTAIN: uncertain[: wire.MAX_UNCERTAIN]}
    return {wire.REPORT: report} | {name: each for name, each in told.items() if each}


def worst(reasons: list[str | None]) -> str | None:
    """The finish reason of an answer joined of several; see FINISH_ORDER."""
    return next((reason for reason in FINISH_ORDER if reason in reasons), reasons[-1])


def summed(usages: list[Json]) -> Json:
    """One usage object: the sums of all numbers, nested ones too; other values of the first that has them."""
    total: Json = {}
    for usage in usages:
        for key, value in usage.items():
            if isinstance(value, dict):
                total[key] = summed([total.get(key) or {}, value])
            elif isinstance(value, int | float):
                total[key] = total.get(key, 0) + value
            else:
                total.setdefault(key, value)
    return total


def merged(fields: list[Json]) -> Json:
    """One `provider_specific_fields` of several calls': `latency_ms` is summed, `attempts` is the last one's, which
    includes those of earlier calls; other values of the first call that has them."""
    result: Json = {}
    for one in fields:
        for key, value in one.items():
            if key == "latency_ms":
                result[key] = round(result.get(key, 0) + value, 1)
            elif key == "attempts":
                result[key] = value
            else:
                result.setdefault(key, value)
    return result


class JoinedStream:
    """Joins the chunks of several streamed answers into one answer: one id, one role, one finish, one usage.

    Call `begin` before each image's stream, `take` for its batches, and `end` once after the last. A finish chunk and
    usage are held back until `end`.
    """

    def __init__(self) -> None:
        self._images: list[Image] = []
        self._finished: list[Image] = []
        self._identity: Json = {}
        self._reasons: list[str | None] = []
        self._fields: list[Json] = []
        self._reports: list[Json] = []
        self._usages: list[Json] = []
        self._finish: Event | None = None
        self._usage_event: Event | None = None
        self._opened = self._sent_content = self._sent_role = False

    def begin(self, image: Image) -> None:
        """The stream of this image comes next."""
        self._images.append(image)
        self._opened = False

    @property
    def is_finished(self) -> bool:
        """Whether the answer on any image has come to its end."""
        return self._finish is not None

    def take(self, batch: EventBatch) -> EventBatch:
        """The events of a batch that are sent now: those with content."""
        visible: EventBatch = []
        for event in batch:
            data = sse.decode(event)
            if data is None:
                if event.raw != sse.DONE:
                    visible.append(event)
            elif self._is_visible(event, data):
                visible.append(event)
        return visible

    def end(self, left: Sequence[str] = ()) -> EventBatch:
        """The finish chunk, the usage chunk if the upstream sent one, and `[DONE]`. `left`: warnings of what was not
        read."""
        batch: EventBatch = []
        usage = summed(self._usages) if self._usages else None
        if self._finish is not None and self._finish.data is not None:
            choice = self._finish.data["choices"][0]
            choice["finish_reason"] = worst(self._reasons)
            fields = merged(self._fields)
            own = {"images": image_infos(self._finished), **reported(self._reports, fields, self._finished, left)}
            choice["provider_specific_fields"] = fields | own
            if usage and self._usage_event is None:
                self._finish.data["usage"] = usage
            batch.append(self._finish)
        if self._usage_event is not None and self._usage_event.data is not None:
            self._usage_event.data["usage"] = usage
            batch.append(self._usage_event)
        batch.append(Event.from_bytes(sse.DONE))
        return batch

    def _is_visible(self, event: Event, data: Json) -> bool:
        """Whether the chunk is sent now. Changes its data in place and keeps finish and usage for `end`."""
        for key in ("id", "created", "model"):
            if key in data:
                data[key] = self._identity.setdefault(key, data[key])
        if usage := data.pop("usage", None):
            self._usages.append(usage)
            if not data.get("choices"):
                self._usage_event = event
        if not data.get("choices"):
            return False
        choice: dict[str, Any] = data["choices"][0]
        self._separate(choice)
        if choice.get("finish_reason") is None:
            return True
        self._finished.append(self._images[-1])
        self._reasons.append(choice["finish_reason"])
        self._fields.append(choice.get("provider_specific_fields") or {})
        self._reports.append(choice.pop(wire.REPORT, None) or {})
        self._finish = Event.from_data(
            {**data, "choices": [{**choice, "delta": {}}]}, name=event.name, finish=event.finish
        )
        choice["finish_reason"] = None
        choice.pop("provider_specific_fields", None)
        return bool(choice.get("delta", {}).get("content"))

    def _separate(self, choice: dict[str, Any]) -> None:
        """Puts the separator and the page's mark before the first content of an image, and drops the role of a later
        one, which was sent before."""
        delta = choice.get("delta") or {}
        if self._sent_role:
            delta.pop("role", None)
        self._sent_role = self._sent_role or "role" in delta
        if delta.get("content") and not self._opened:
            separator = SEPARATOR if self._sent_content else ""
            self._opened = self._sent_content = True
            delta["content"] = f"{separator}{heading(self._images[-1])}{delta['content']}"


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


class OwnUseCounter(Protocol):
    """Counts calls that the gateway makes by itself; implemented by `access.budgets.OwnUse`."""

    def charged(self, stats: RequestStats) -> AbstractAsyncContextManager[None]:
        """Around one call, for the key named in `stats`."""
        ...


class OcrService:
    """Answers chat requests to models of kind `ocr`."""

    def __init__(self, completions: Completions, images: ImageLoader, documents: Documents) -> None:
        self._completions = completions
        self._images = images
        self._documents = documents

    async def complete(self, body: Json, stats: RequestStats) -> Json:
        """A `chat.completion` object; its choice's `provider_specific_fields` has `images: [{width, height, page?}]`
        and `ocr` (see `joining.reported`).

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
    content = [
        {"type": "image_url", "image_url": {"url": image.url}},
        {"type": "text", "text": request.prompt},
    ]
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
