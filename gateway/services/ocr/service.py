"""OCR through chat completions: one upstream call for each image, in order, and one answer made of theirs.

The completion service does the calls (upstreams, retries, normal forms), an ImageLoader the images, which are all
loaded and checked before the first call. Knows no HTTP and no engine.
"""

from contextlib import aclosing
from typing import Any, Protocol

from gateway.domain import Event, EventBatch, EventStream, Json, RequestStats
from gateway.errors import GatewayError, InvalidRequest, UpstreamRefused
from gateway.services.ocr.images import Image, ImageLoader, image_infos
from gateway.services.ocr.request import read_request
from gateway.wire import ocr as wire
from gateway.wire import sse
from gateway.wire.untrusted_json import list_in, tables_in

SEPARATOR = "\n\n"
"""Between the texts of two images."""
FINISH_ORDER = ("content_filter", "length")
"""The finish reason of a joined answer is the first of these that any image has; else that of the last image."""
IMAGE_CODES = ("invalid_image_format", "image_too_large", "invalid_image_url", "ocr_failed", "ocr_timeout")
"""Error codes of an engine's refusals that are about one image."""


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

    def __init__(self, completions: Completions, images: ImageLoader) -> None:
        self._completions = completions
        self._images = images

    async def complete(self, body: Json, stats: RequestStats) -> Json:
        """A `chat.completion` object; its choice's `provider_specific_fields` has `images: [{width, height}]` and `ocr`
        (see `reported`).

        Raises InvalidRequest, `param` naming the part, and what the completion service raises.
        """
        request = read_request(body)
        images = await self._images.load_all(list(request.urls))
        answers: list[Json] = []
        for image in images:
            try:
                answers.append(await self._completions.complete(_call(body, request.prompt, image), stats))
            except UpstreamRefused as error:
                raise _at_image(error, image) from error
        return _join(answers, images)

    async def stream(self, body: Json, stats: RequestStats) -> EventStream:
        """`chat.completion.chunk` events of all images as one answer, ended by `[DONE]`. Raises as `complete`."""
        request = read_request(body)
        images = await self._images.load_all(list(request.urls))
        joined = _JoinedStream(images)
        for number, image in enumerate(images):
            joined.begin(number)
            try:
                async with aclosing(self._completions.stream(_call(body, request.prompt, image), stats)) as events:
                    async for batch in events:
                        if visible := joined.take(batch):
                            yield visible
            except UpstreamRefused as error:
                raise _at_image(error, image) from error
        yield joined.end()


def _call(body: Json, prompt: str, image: Image) -> Json:
    """The body for one image: the image first, as DeepSeek-OCR's servers expect it."""
    content = [{"type": "image_url", "image_url": {"url": image.url}}, {"type": "text", "text": prompt}]
    return {**body, "messages": [{"role": "user", "content": content}]}


def _at_image(error: UpstreamRefused, image: Image) -> GatewayError:
    """The engine's refusal of an image as InvalidRequest at the image's part; any other refusal unchanged."""
    if error.code in IMAGE_CODES:
        return InvalidRequest(error.message, param=image.where, code=error.code)
    return error


def _join(answers: list[Json], images: list[Image]) -> Json:
    """One completion made of one for each image."""
    answer = answers[0]
    choice = answer["choices"][0]
    choices = [one["choices"][0] for one in answers]
    choice["message"]["content"] = SEPARATOR.join(one["message"].get("content") or "" for one in choices)
    choice["finish_reason"] = worst([one.get("finish_reason") for one in choices])
    fields = merged([one.get("provider_specific_fields") or {} for one in choices])
    reports = [one.pop(wire.REPORT, None) or {} for one in choices]
    choice["provider_specific_fields"] = {**fields, "images": image_infos(images), **reported(reports, fields)}
    usages = [one["usage"] for one in answers if one.get("usage")]
    if usages:
        answer["usage"] = summed(usages)
    return answer


def reported(reports: list[Json], fields: Json) -> Json:
    """`{ocr, warnings?}` of the reports on the images, in order, `ocr` being `{low_confidence?, scripts?, warnings,
    lines?}`; with several images each warning names its own, and the lines' `page` is its number. `fields` may have
    warnings."""
    report: Json = {"warnings": []}
    for number, one in enumerate(reports, 1):
        where = f"image {number}: " if len(reports) > 1 else ""
        report["warnings"] += [f"{where}{warning}" for warning in list_in(one, "warnings")]
        if isinstance(one.get("low_confidence"), bool):
            report["low_confidence"] = report.get("low_confidence", False) or one["low_confidence"]
        if isinstance(one.get("scripts"), list):
            known = report.setdefault("scripts", [])
            known += [script for script in one["scripts"] if script not in known]
        if isinstance(one.get("lines"), list):
            report.setdefault("lines", []).extend({**line, "page": number} for line in tables_in(one, "lines"))
    warnings = [*(fields.get("warnings") or ()), *report["warnings"]]
    return {wire.REPORT: report} | ({"warnings": warnings} if warnings else {})


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


class _JoinedStream:
    """Joins the chunks of several streamed answers into one answer: one id, one role, one finish, one usage.

    Call `begin` before each image's stream, `take` for its batches, and `end` once after the last. A finish chunk and
    usage are held back until `end`.
    """

    def __init__(self, images: list[Image]) -> None:
        self._images = images
        self._number = 0
        self._identity: Json = {}
        self._reasons: list[str | None] = []
        self._fields: list[Json] = []
        self._reports: list[Json] = []
        self._usages: list[Json] = []
        self._finish: Event | None = None
        self._usage_event: Event | None = None
        self._opened = False

    def begin(self, number: int) -> None:
        """The stream of image `number`, counted from 0, comes next."""
        self._number = number
        self._opened = False

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

    def end(self) -> EventBatch:
        """The finish chunk, the usage chunk if the upstream sent one, and `[DONE]`."""
        batch: EventBatch = []
        usage = summed(self._usages) if self._usages else None
        if self._finish is not None and self._finish.data is not None:
            choice = self._finish.data["choices"][0]
            choice["finish_reason"] = worst(self._reasons)
            fields = merged(self._fields)
            own = {"images": image_infos(self._images), **reported(self._reports, fields)}
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
        """Puts the separator before the first content of a later image, and drops its role, which was sent before."""
        delta = choice.get("delta") or {}
        if self._number == 0:
            return
        delta.pop("role", None)
        if delta.get("content") and not self._opened:
            self._opened = True
            delta["content"] = SEPARATOR + delta["content"]
