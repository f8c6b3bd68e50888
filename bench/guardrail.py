"""What the guardrail finds: recall, false findings and time on an open set of our own sentences.

`python -m bench.guardrail [--base http://127.0.0.1:PORT/v1] [--model NAME] [--limit N]`. The set is
`bench/data/guardrail.jsonl` (`{text, findings: [{type, value}]}`): PERSON, ADDRESS, INSTRUCTION, and texts that
only look alike. Without `--base` a scripted model answers with the labels: what the gateway makes
of true answers. With it, an OpenAI-compatible server is asked: `gateway llm-server` for the embedded model, which
needs some seconds a text.
"""

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from gateway.config import settings as config
from gateway.errors import UpstreamError, UpstreamRefused
from gateway.ports import ChatModel
from gateway.sanitize.guardrail import Guardrail, GuardrailFailed

SET = Path(__file__).with_name("data") / "guardrail.jsonl"
KINDS = ("PERSON", "ADDRESS", "INSTRUCTION")
_TIMEOUT_S = 120.0
"""Chosen: an embedded model on a busy core needs up to half a minute a text; a true deadline would hide its quality."""
FAILED = "without a usable answer: "
"""How the counts of the kind `all` that are failures begin."""
_COVERED = 0.5
"""Share of a labelled value that must be found: a model may report an instruction's first half."""


class Labels:
    """A scripted model that answers every question with the labels of the text in it."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    async def ask(self, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        text = orjson.loads(body["messages"][-1]["content"].split("\n")[1])["text"]
        row = next(row for row in self._rows if row["text"] == text)
        content = json.dumps({"findings": row["findings"]})
        return {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}


class Server:
    """A chat completions server."""

    def __init__(self, session: aiohttp.ClientSession, base: str, model: str) -> None:
        self._session, self._url, self._model = session, f"{base.rstrip('/')}/chat/completions", model

    async def ask(self, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        async with self._session.post(self._url, json={**body, "model": self._model}, timeout=timeout) as reply:
            if reply.status in (400, 422):
                message = f"the model refused the question with {reply.status}"
                raise UpstreamRefused(message, status=reply.status, code="upstream_refused")
            if reply.status != 200:
                raise UpstreamError(f"the model answered {reply.status}")
            answer: dict[str, Any] = await reply.json()
            return answer


def first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def is_found(value: str, found: list[str]) -> bool:
    return any((each in value and len(each) >= _COVERED * len(value)) or value in each for each in found)


async def measure(model: ChatModel, rows: list[dict[str, Any]]) -> dict[str, Counter[str]]:
    """{kind: counts of labelled, found and false}; the kind `all` has the number of texts, their time in milliseconds,
    and, by what was wrong, how many got no usable answer.

    Each text has a guardrail of its own: the breaker of a common one opens after five bad answers, and the other texts
    would then fail unasked.
    """
    settings = config.GuardrailSettings(enabled="on", timeout_s=_TIMEOUT_S)
    counts = {kind: Counter[str]() for kind in (*KINDS, "all")}
    for row in rows:
        started = time.perf_counter()
        try:
            findings = await Guardrail(settings, model, "", "measured").find(row["text"])
        except GuardrailFailed as failure:
            findings = []
            counts["all"][f"{FAILED}{first_cause(failure)}"] += 1
        counts["all"].update(texts=1, ms=int(1000 * (time.perf_counter() - started)))
        for kind in KINDS:
            values = [value for entity, value in findings if entity == kind]
            wanted = [each["value"] for each in row["findings"] if each["type"] == kind]
            counts[kind].update(labelled=len(wanted), found=sum(is_found(each, values) for each in wanted))
            counts[kind]["false"] += sum(not any(is_found(each, [value]) for each in wanted) for value in values)
    return counts


def show(counts: dict[str, Counter[str]]) -> None:
    whole = counts["all"]
    print(f"{'':14}{'labelled':>9}{'found':>7}{'recall':>8}{'false':>7}")
    for kind in KINDS:
        row = counts[kind]
        recall = row["found"] / row["labelled"] if row["labelled"] else 1.0
        print(f"{kind:14}{row['labelled']:>9}{row['found']:>7}{recall:>8.2f}{row['false']:>7}")
    print(f"{whole['texts']} texts, {whole['ms'] // max(1, whole['texts'])} ms each")
    for reason, count in whole.items():
        if reason.startswith(FAILED):
            print(f"{count} {reason}")


async def run(options: argparse.Namespace) -> None:
    rows = [json.loads(line) for line in SET.read_text("utf-8").splitlines()]
    rows = random.Random(1).sample(rows, min(options.limit, len(rows))) if options.limit else rows
    if not options.base:
        show(await measure(Labels(rows), rows))
        return
    async with aiohttp.ClientSession() as session:
        show(await measure(Server(session, options.base, options.model), rows))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="", help="address of a chat completions server, with /v1")
    parser.add_argument("--model", default="SvcLLM")
    parser.add_argument("--limit", type=int, default=0, help="ask about so many texts only, drawn from the set")
    asyncio.run(run(parser.parse_args(argv)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
