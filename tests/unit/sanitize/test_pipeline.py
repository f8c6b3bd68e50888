"""Units of text in, masked units and verdicts out."""

import asyncio
from functools import partial
from typing import Any

import orjson
import pytest

from gateway.calls.masking import Masking
from gateway.config.settings import Sanitize, SanitizeActions, SanitizePattern
from gateway.domain import RequestStats
from gateway.errors import SanitizerFailed
from gateway.sanitize.pipeline import RequestWork, Sanitizer, Verdict
from gateway.sanitize.policy import Direction
from gateway.sanitize.report import explain
from gateway.sanitize.scanner import Scanner
from gateway.texts import TextSlot, TextUnit
from gateway.wire.chat.dialect import ChatDialect
from gateway.wire.dialect import withhold
from gateway.wire.text_walk import answer_steps, request_steps
from tests.support.loop_turns import turns_of_others
from tests.support.waiting import until

CARD, MAIL = "4539 1488 0343 6467", "jane.doe@posthaus.org"


async def clean(
    config: Sanitize, text: Any, direction: Direction = "requests", form: Any = "text", key: str = "query"
) -> tuple[str, Verdict]:
    holder = {key: text}
    verdict = await Sanitizer(config).clean(TextUnit([TextSlot(holder, key, f"arguments.{key}", form)]), direction)
    return holder[key], verdict


PROFILES = [
    ("balanced", "requests", "[REDACTED:CREDIT_CARD] [REDACTED:EMAIL] [REDACTED:PHONE]"),
    ("balanced", "responses", f"[REDACTED:CREDIT_CARD] {MAIL} +41 44 668 18 00"),
    ("strict", "responses", "[REDACTED:CREDIT_CARD] [REDACTED:EMAIL] [REDACTED:PHONE]"),
]


@pytest.mark.parametrize(("profile", "direction", "left"), PROFILES)
async def test_balanced_masks_all_on_the_way_out_and_only_the_dangerous_on_the_way_in_and_strict_all_both_ways(
    profile: str, direction: Direction, left: str
) -> None:
    text, verdict = await clean(Sanitize(profile=profile), f"{CARD} {MAIL} +41 44 668 18 00", direction)
    assert (text, verdict.counts) == (left, {"CREDIT_CARD": 1, "EMAIL": 1, "PHONE": 1})


async def test_the_operators_actions_stand_over_the_profile() -> None:
    config = Sanitize(actions=SanitizeActions(requests={"CREDIT_CARD": "block", "EMAIL": "off", "PHONE": "flag"}))
    text, verdict = await clean(config, f"{MAIL} +41 44 668 18 00 {CARD}")
    assert text == f"{MAIL} +41 44 668 18 00 ", "what is blocked ends before the finding"
    assert verdict.counts == {"CREDIT_CARD": 1, "PHONE": 1}
    assert verdict.refusal is not None and verdict.refusal.param == "arguments.query"
    assert "CREDIT_CARD" in verdict.refusal.message and "4539" not in verdict.refusal.message


async def test_a_json_text_stays_json_and_its_leaves_keys_and_numbers_are_masked() -> None:
    def document(mail: str, number: int | str, password: str, card: str) -> Any:
        inner = {"card": number, "n": 12345678901, "ok": True, "none": None}
        return {"to": [mail, inner], mail: 1.5, "password": password, "deep": {"list": [[f"pay {card}"]]}}

    given = document(MAIL, 4539148803436467, "hunter2x", CARD)
    text, verdict = await clean(Sanitize(), orjson.dumps(given).decode(), form="json")
    card = "[REDACTED:CREDIT_CARD]"
    assert orjson.loads(text) == document("[REDACTED:EMAIL]", card, "[REDACTED:SECRET]", card)
    assert verdict.counts["CREDIT_CARD"] == 2


async def test_a_clean_json_text_is_not_written_anew() -> None:
    text = '{ "a" :  [1, 2.50, "x"] }'
    assert (await clean(Sanitize(), text, form="json"))[0] == text


@pytest.mark.parametrize("text", ['{"a": "4539148803436467"', "[" * 500 + '"4539148803436467"' + "]" * 500])
async def test_what_is_called_json_and_is_not_is_masked_as_text(text: str) -> None:
    assert "4539" not in (await clean(Sanitize(), text, form="json"))[0]


async def test_a_url_stays_but_for_its_credentials() -> None:
    url = "https://jane:s3cretPass@posthaus.org/a/4539148803436467?mail=jane@posthaus.org"
    text, verdict = await clean(Sanitize(), url, form="url")
    assert text == url.replace("s3cretPass", "%5BREDACTED:SECRET%5D") and verdict.counts == {"SECRET": 1}


async def test_the_name_of_a_value_says_what_it_is() -> None:
    assert (await clean(Sanitize(), "hunter2x", key="password"))[0] == "[REDACTED:SECRET]"
    assert (await clean(Sanitize(), "536904399", key="ssn"))[0] == "[REDACTED:US_SSN]"
    assert (await clean(Sanitize(), "hunter2x", key="query"))[0] == "hunter2x"


async def test_own_patterns_are_masked_by_default() -> None:
    config = Sanitize(patterns=(SanitizePattern("EMPLOYEE", r"EMP-\d{4}"),))
    assert (await clean(config, "ask EMP-1234", "responses"))[0] == "ask [REDACTED:EMPLOYEE]"


async def test_a_detector_that_fails_refuses() -> None:
    unit = TextUnit([TextSlot({"query": 5}, "query", "q")])  # no text at all: the detectors cannot work
    with pytest.raises(SanitizerFailed):
        await Sanitizer(Sanitize()).clean(unit, "requests")


@pytest.mark.slow
async def test_a_large_text_does_not_hold_up_the_loop() -> None:
    words = "lorem ipsum dolor sit amet 12 consectetur, "
    text = (words * 60_000)[:2_000_000] + f" {CARD} " + words * 1000
    async with turns_of_others() as turns:
        cleaned, verdict = await clean(Sanitize(), text)
    assert verdict.counts == {"CREDIT_CARD": 1}
    assert len(cleaned) == len(text) - len(CARD) + len("[REDACTED:CREDIT_CARD]")
    assert turns.count > 50  # at once: two


async def test_long_texts_of_one_key_do_not_keep_anothers_waiting() -> None:
    sanitizer, order = Sanitizer(Sanitize()), []

    async def one(key: str, chars: int) -> None:
        unit = TextUnit([TextSlot({"query": "A sentence with 12 words. " * (chars // 26)}, "query", "arguments.query")])
        await sanitizer.clean(unit, "requests", RequestWork(key))
        order.append(key)

    async with asyncio.timeout(60):
        flood = [asyncio.create_task(one("flood", 1_000_000)) for _ in range(12)]
        await asyncio.sleep(0)
        await one("small", 60_000)
        await asyncio.gather(*flood)
    assert order.index("small") <= 2, "at most the texts that were being scanned come before it"


@pytest.mark.slow
async def test_a_long_text_gives_the_same_findings_in_pieces_as_in_one_go() -> None:
    parts = [f"some words {number} and {CARD} or {MAIL}, my password is Tr0ub4dor{number}\n" for number in range(3000)]
    text = "".join(parts)
    cleaned, verdict = await clean(Sanitize(), text)
    assert sum(verdict.counts.values()) == len(Scanner().scan(text))
    assert "4539" not in cleaned and "Tr0ub" not in cleaned


def test_an_explanation_names_kinds_places_and_actions_and_no_value() -> None:
    told = explain(f"hello\npay {CARD} to {MAIL}", Sanitize(), "balanced")
    for each in ("2:5", "CREDIT_CARD", "flag", "pay [REDACTED:CREDIT_CARD] to [REDACTED:EMAIL]"):
        assert each in told
    assert CARD not in told and explain("nothing here", Sanitize(), "strict") == "Nothing found (profile strict)."


async def test_many_texts_let_other_tasks_run_in_between() -> None:
    texts = [f"call +49 30 {1_000_000 + number} before noon, or write to somebody" for number in range(900)]
    unit = TextUnit([TextSlot(texts, index, f"content[{index}]") for index in range(900)])
    async with turns_of_others() as turns:
        await Sanitizer(Sanitize()).clean(unit, "requests")
    assert turns.count > 4


async def test_the_texts_of_one_request_share_what_they_may_spend_beyond_their_length() -> None:
    sanitizer, work = Sanitizer(Sanitize()), RequestWork()
    dense = " ".join(rf"\u00{number}\x{number}" for number in range(40, 70)) + f" {CARD}"
    before = work.allowance.left
    for number in range(20):
        await sanitizer.clean(TextUnit([TextSlot({"a": f"{number} {dense}"}, "a", "a")]), "requests", work)
    assert work.allowance.left < before - 20 * 100
    work.allowance.left = 0
    words = {"a": "many plain words without any number say nothing and so they cost nothing beyond their length"}
    await sanitizer.clean(TextUnit([TextSlot(words, "a", "a")]), "requests", work)
    assert "REDACTED" not in words["a"]
    numbers = {"a": dense}
    verdict = await sanitizer.clean(TextUnit([TextSlot(numbers, "a", "a")]), "requests", work)
    assert verdict.counts and CARD not in numbers["a"]  # unchecked candidates are masked, not passed


@pytest.mark.parametrize("value", ["data:text/plain,hello", "word " * 300, f"word {CARD} " * 300])
async def test_a_property_whose_name_is_masked_in_an_answer_keeps_its_value_masked_too(value: str) -> None:
    answer = {"extra": {CARD: value, "b": "c"}}
    unit = TextUnit(lambda: answer_steps(answer))
    assert (await Sanitizer(Sanitize()).clean(unit, "responses")).counts["CREDIT_CARD"] == 1 + value.count(CARD)
    assert answer == {"extra": {"[REDACTED:CREDIT_CARD]": value.replace(CARD, "[REDACTED:CREDIT_CARD]"), "b": "c"}}
    withhold(unit, None)
    assert answer["extra"].keys() == {"[REDACTED:CREDIT_CARD]", "b"}


async def test_slots_of_a_request_that_continue_no_other_are_not_kept_once_they_are_masked() -> None:
    fields = {f"field_{number}": {"description": f"{number} {MAIL}"} for number in range(2_000)}
    unit = TextUnit(lambda: request_steps({"schema": fields}))
    verdict = await Sanitizer(Sanitize()).clean(unit, "requests")
    assert verdict.counts == {"EMAIL": 2_000} and MAIL not in str(fields) and unit.slots == []


READ = {"id": "call-1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a b.py"}'}}
CALL = {"role": "assistant", "content": None, "tool_calls": [READ]}


def message_unit(message: Any, walks: list[int]) -> TextUnit:
    """A unit of a message that notes each walk over it."""

    def slots() -> Any:
        walks.append(1)
        return request_steps(message, "messages[0]")

    return TextUnit(slots, whole=message)


async def test_a_message_that_comes_again_as_it_was_is_not_walked_again() -> None:
    sanitizer, walks = Sanitizer(Sanitize()), list[int]()
    for _ in range(3):
        assert not (await sanitizer.clean(message_unit(orjson.loads(orjson.dumps(CALL)), walks), "requests"))
    assert len(walks) == 1
    await sanitizer.clean(message_unit(CALL, walks), "responses")
    assert len(walks) == 2, "other actions hold for answers"


async def test_a_message_that_differs_or_holds_a_finding_or_half_a_character_is_walked_each_time() -> None:
    sanitizer, walks = Sanitizer(Sanitize()), list[int]()
    await sanitizer.clean(message_unit(CALL, walks), "requests")
    for _ in range(2):
        message = {**CALL, "content": f"my card is {CARD}"}
        verdict = await sanitizer.clean(message_unit(message, walks), "requests")
        assert verdict.counts == {"CREDIT_CARD": 1} and message["content"] == "my card is [REDACTED:CREDIT_CARD]"
    assert len(walks) == 3

    for _ in range(2):  # no JSON
        await sanitizer.clean(message_unit({"role": "user", "content": "half a pair \ud83d"}, walks), "requests")
    assert len(walks) == 5


async def test_a_conversation_that_grows_is_known_by_blocks_from_its_front(monkeypatch: pytest.MonkeyPatch) -> None:
    sanitizer, cleaned = Sanitizer(Sanitize(routes=("chat",))), list[TextUnit]()
    clean_unit = Sanitizer.clean

    async def counted(self: Sanitizer, unit: TextUnit, *more: Any) -> Verdict:
        cleaned.append(unit)
        return await clean_unit(self, unit, *more)

    monkeypatch.setattr(Sanitizer, "clean", counted)
    said = [{"role": "user", "content": f"question {number}"} for number in range(10)]
    turns = [each for message in said for each in (message, CALL)]

    async def masked(messages: list[Any]) -> tuple[int, list[Any]]:
        """How many messages were looked at, and what became of them."""
        cleaned.clear()
        body = orjson.loads(orjson.dumps({"messages": messages}))
        await Masking(sanitizer, ChatDialect(), RequestStats(), RequestWork()).clean_request(body)
        return len(cleaned), body["messages"]

    assert await masked(turns) == (20, turns)
    assert await masked([*turns, said[0]]) == (5, [*turns, said[0]]), "two blocks are known"
    changed = [*turns[:3], {"role": "user", "content": f"my card is {CARD}"}, *turns[4:]]
    for _ in range(2):
        count, found = await masked(changed)
        assert (count, found[3]["content"]) == (12, "my card is [REDACTED:CREDIT_CARD]"), "a block with a finding"
    count, found = await masked([*turns, {"role": "user", "content": CARD}, {"role": "user", "content": CARD}])
    assert count == 6 and [each["content"] for each in found[-2:]] == ["[REDACTED:CREDIT_CARD]"] * 2
    assert (await masked([turns[1], turns[0], *turns[2:]]))[0] == 12, "another order is another block"


@pytest.mark.slow
async def test_the_scan_of_a_long_text_ends_soon_after_its_caller_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned, scan = list[int](), Scanner._scan_chunk

    def counted(self: Scanner, text: str, **more: Any) -> Any:
        scanned.append(len(text) if "202 555" in text else 0)
        return scan(self, text, **more)

    monkeypatch.setattr(Scanner, "_scan_chunk", counted)
    text = "call +1 202 555 0143 or write to ops@posthaus.com, 4539 1488 0343 6467\n" * 20_000
    holder, sanitizer = {"text": text}, Sanitizer(Sanitize())
    task = asyncio.create_task(sanitizer.clean(TextUnit([TextSlot(holder, "text", "text")]), "requests"))
    await until(lambda: bool(scanned), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    other = TextUnit([TextSlot({"text": "A sentence with 12 words. " * 80_000}, "text", "text")])
    await sanitizer.clean(other, "requests")  # takes as long as the whole of the first
    assert holder["text"] == text and sum(scanned) < len(text) / 2


@pytest.mark.parametrize("cut", range(1, 12))
async def test_a_value_found_once_is_masked_where_it_is_split_over_parts_of_another_message(cut: int) -> None:
    sanitizer, work = Sanitizer(Sanitize()), RequestWork()
    await sanitizer.clean(TextUnit([TextSlot({"a": "password: tR4vel!ing77"}, "a", "a")]), "requests", work)
    parts = ["I typed " + "tR4vel!ing77"[:cut], "tR4vel!ing77"[cut:] + " there"]
    unit = TextUnit([TextSlot(parts, index, f"[{index}]", flow="content") for index in range(2)])
    await sanitizer.mask_known(unit, Verdict(), work)
    assert parts == ["I typed [REDACTED:SECRET]", " there"]


async def test_a_name_stays_usable_and_a_key_in_a_name_is_refused_beside_texts_that_spend_the_allowance() -> None:
    texts = [" ".join(rf"\u00{number}\x{number}" for number in range(40, 70)) + f" {n} {CARD}" for n in range(300)]
    for name, is_refused in (("get_weather_2", False), ("ghp_x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi", True)):
        body: dict[str, Any] = {"texts": list(texts), "tools": [{"type": "function", "function": {"name": name}}]}
        work = RequestWork()
        work.allowance.left = 0
        verdict = await Sanitizer(Sanitize()).clean(TextUnit(partial(request_steps, body)), "requests", work)
        assert (verdict.refusal is not None) == is_refused
        assert not any(CARD in text for text in body["texts"]) or is_refused
