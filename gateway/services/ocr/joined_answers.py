"""Makes one answer of the answers on several images: whole, or as one stream."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from gateway.domain import Event, EventBatch, Json
from gateway.services.ocr.images import Image, image_infos
from gateway.wire import ocr as wire
from gateway.wire import sse
from gateway.wire.chat.answer import summed_usage
from gateway.wire.untrusted_json import list_in, tables_in

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
        answer["usage"] = reduce(summed_usage, usages)
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
        usage = reduce(summed_usage, self._usages) if self._usages else None
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
