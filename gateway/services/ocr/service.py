"""OCR over chat completions: one upstream call an image, in order, their answers joined.

Built over the completion service (which knows upstreams, retries and normal forms) and a safe image fetcher. Images are
fetched and checked before the first upstream call, so that a bad one is refused whole. Knows no HTTP.
"""

from contextlib import aclosing
from typing import Any, Protocol

from gateway.domain import Event, EventBatch, EventStream, Json, RequestStats
from gateway.errors import GatewayError, InvalidRequest, UpstreamRefused
from gateway.services.ocr.images import Image, ImageLoader, image_infos
from gateway.services.ocr.request import read_request
from gateway.wire import sse

SEPARATOR = "\n\n"
FINISH_ORDER = ("content_filter", "length")
"""Of several images' finish reasons the first of these that occurs is the answer's; else the last one's."""
IMAGE_CODES = ("invalid_image_format", "image_too_large", "invalid_image_url", "ocr_failed", "ocr_timeout")


class Completions(Protocol):
    """One chat call to the model named in the body; see services.completion."""

    async def complete(self, body: Json, stats: RequestStats) -> Json: ...

    def stream(self, body: Json, stats: RequestStats) -> EventStream: ...


class OcrService:
    def __init__(self, completions: Completions, images: ImageLoader) -> None:
        self._completions = completions
        self._images = images

    async def complete(self, body: Json, stats: RequestStats) -> Json:
        """A `chat.completion`. Raises InvalidRequest naming the part, and whatever the completion service raises."""
        request = read_request(body)
        images = await self._images.load_all(list(request.urls))
        answers: list[Json] = []
        for image in images:
            try:
                answers.append(await self._completions.complete(_call(body, request.prompt, image), stats))
            except UpstreamRefused as error:
                raise _naming(error, image) from error
        return _joined(answers, images)

    async def stream(self, body: Json, stats: RequestStats) -> EventStream:
        """`chat.completion.chunk` events of all images as one answer, ended by `[DONE]`."""
        request = read_request(body)
        images = await self._images.load_all(list(request.urls))
        joint = _JoinedStream(images)
        for number, image in enumerate(images):
            joint.begin(number)
            try:
                async with aclosing(self._completions.stream(_call(body, request.prompt, image), stats)) as events:
                    async for batch in events:
                        if shown := joint.take(batch):
                            yield shown
            except UpstreamRefused as error:
                raise _naming(error, image) from error
        yield joint.end()


def _call(body: Json, prompt: str, image: Image) -> Json:
    """The body for one image: the image first, as DeepSeek-OCR's servers expect it."""
    content = [{"type": "image_url", "image_url": {"url": image.url}}, {"type": "text", "text": prompt}]
    return {**body, "messages": [{"role": "user", "content": content}]}


def _naming(error: UpstreamRefused, image: Image) -> GatewayError:
    """The engine's refusal of an image, as a refusal of the part it came in."""
    if error.code in IMAGE_CODES:
        return InvalidRequest(error.message, param=image.where, code=error.code)
    return error


def _joined(answers: list[Json], images: list[Image]) -> Json:
    """One completion out of one per image."""
    answer = answers[0]
    choice = answer["choices"][0]
    choices = [one["choices"][0] for one in answers]
    choice["message"]["content"] = SEPARATOR.join(one["message"].get("content") or "" for one in choices)
    choice["finish_reason"] = worst([one.get("finish_reason") for one in choices])
    choice["provider_specific_fields"] = {
        **merged([one.get("provider_specific_fields") or {} for one in choices]),
        "images": image_infos(images),
    }
    usages = [one["usage"] for one in answers if one.get("usage")]
    if usages:
        answer["usage"] = summed(usages)
    return answer


def worst(reasons: list[str | None]) -> str | None:
    return next((reason for reason in FINISH_ORDER if reason in reasons), reasons[-1])


def summed(usages: list[Json]) -> Json:
    """Usage objects added up, nested details included."""
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
    """Provider fields of several calls: times added, the attempts of the last, which counts those before it."""
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
    """Chunks of several streamed answers as one: one id, one role, one finish, usage added up."""

    def __init__(self, images: list[Image]) -> None:
        self._images = images
        self._number = 0
        self._identity: Json = {}
        self._reasons: list[str | None] = []
        self._fields: list[Json] = []
        self._usages: list[Json] = []
        self._finish: Event | None = None
        self._usage_event: Event | None = None
        self._opened = False

    def begin(self, number: int) -> None:
        self._number = number
        self._opened = False

    def take(self, batch: EventBatch) -> EventBatch:
        """What of a batch is shown now: content, but no end, which comes with the last image's."""
        shown: EventBatch = []
        for event in batch:
            data = sse.decode(event)
            if data is None:
                if event.raw != sse.DONE:
                    shown.append(event)
            elif self._is_shown(event, data):
                shown.append(event)
        return shown

    def end(self) -> EventBatch:
        batch: EventBatch = []
        usage = summed(self._usages) if self._usages else None
        if self._finish is not None and self._finish.data is not None:
            choice = self._finish.data["choices"][0]
            choice["finish_reason"] = worst(self._reasons)
            choice["provider_specific_fields"] = {**merged(self._fields), "images": image_infos(self._images)}
            if usage and self._usage_event is None:
                self._finish.data["usage"] = usage
            batch.append(self._finish)
        if self._usage_event is not None and self._usage_event.data is not None:
            self._usage_event.data["usage"] = usage
            batch.append(self._usage_event)
        batch.append(Event.from_bytes(sse.DONE))
        return batch

    def _is_shown(self, event: Event, data: Json) -> bool:
        """Whether the chunk is to be shown now; remembers what is not."""
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
        self._finish = Event.from_data(
            {**data, "choices": [{**choice, "delta": {}}]}, name=event.name, finish=event.finish
        )
        choice["finish_reason"] = None
        choice.pop("provider_specific_fields", None)
        return bool(choice.get("delta", {}).get("content"))

    def _separate(self, choice: dict[str, Any]) -> None:
        """The first content of a later image begins with the separator; its role has been told."""
        delta = choice.get("delta") or {}
        if self._number == 0:
            return
        delta.pop("role", None)
        if delta.get("content") and not self._opened:
            self._opened = True
            delta["content"] = SEPARATOR + delta["content"]
