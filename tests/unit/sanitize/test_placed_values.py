"""Values at random places of requests, their placeholders at random places of answers, whole and cut at random."""

import random
from typing import Any

import pytest

from gateway.calls.answers import StreamedAnswer, WholeAnswer
from gateway.calls.masking import Masking
from gateway.config.settings import Sanitize
from gateway.domain import Event, EventStream, RequestStats
from gateway.sanitize.pipeline import RequestWork, Sanitizer
from gateway.wire import sse
from gateway.wire.chat.dialect import ChatDialect

SANITIZER = Sanitizer(Sanitize(profile="reversible", routes=("chat",)))
LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
BEFORE = ("", "so ", "Write to: ", "- ", "> ", "`", "(", '"', "\n", "**", "| a | ", "für ", "это ", "见：", "a=1; ")
AROUND = (
    "{}", "[{}](https://ok.example/x)", "![x](http:/evil/{})", "<img src='\\\\evil/{}'>", "//server/share/{}/x",
    "C:\\Users\\{}\\x", "https://{}@evil/p", '<a href="/u/{}">', "[a]: //evil/{}", '{{"to": "{}"}}', "mailto:{}",
    "postgres://app:{}@db.posthaus.org/x", "<b>{}</b>", "see https://ok.example/ {}", "{} {}", "{}, {}", "\\[{}",
)  # fmt: skip
AFTER = ("", ".", " and so on", ", then", "\n\n", ")", '"', "` ok", " 见", "!")


def word(chance: random.Random, size: int) -> str:
    return "".join(chance.choice(LETTERS) for _ in range(size))


def value_of(chance: random.Random) -> tuple[str, str]:
    """(a value, how it is written in a request)."""
    kind = chance.randrange(5)
    if kind == 0:
        value = f"{word(chance, 6).lower()}.{word(chance, 5).lower()}@{word(chance, 7).lower()}.org"
        return value, chance.choice(("mail {}", "{}", "<{}>", "to={}&x=1", '{{"mail": "{}"}}')).format(value)
    if kind == 1:
        value = "ghp_" + word(chance, 36)
        return value, chance.choice(("use {}", "{}", "KEY={}", "?key={}", "mail {}@posthaus.org")).format(value)
    if kind == 2:
        value = word(chance, 8) + "!7x" + word(chance, 3)
        return value, chance.choice(("password: {}", 'password = "{}"', "my password is {}")).format(value)
    if kind == 3:
        value = word(chance, 10) + "9Q"
        return value, f"postgres://app:{value}@db.posthaus.org:5432/x"
    digits = [4, *(chance.randrange(10) for _ in range(14))]
    total = sum(each if at % 2 else sum(divmod(2 * each, 10)) for at, each in enumerate(digits))
    number = "".join(map(str, [*digits, -total % 10]))
    return number, "card " + " ".join(number[at : at + 4] for at in range(0, 16, 4))


def answer_of(chance: random.Random, names: list[str]) -> str:
    """What a model writes with these placeholders."""
    parts: list[str] = []
    for _ in range(chance.randrange(1, 7)):
        around = chance.choice(AROUND)
        bent = [chance.choice(("[{}]", "[{}]", "[{}]", "[ {} ]", "`[{}]`")).format(chance.choice(names)) for _ in "12"]
        parts += (chance.choice(BEFORE), around.format(*bent), chance.choice(AFTER))
    return "".join(parts)


class Whole(WholeAnswer):
    def __init__(self, data: Any) -> None:
        self.data = data


class Streamed(StreamedAnswer):
    relay = None
    whole_answers = was_masked = has_own_links = False
    refusal_events = None

    def __init__(self, events: EventStream) -> None:
        self.events = events


async def trial(chance: random.Random, placed: int = 4) -> tuple[list[str], str, str]:
    """(values that left, the restored answer, the same of its stream)."""
    values, said = zip(*(value_of(chance) for _ in range(placed)), strict=True)
    messages = [{"role": "user", "content": chance.choice((" ", ", ", "\n", ". ")).join(said)}]
    masking = Masking(SANITIZER, ChatDialect(), RequestStats(), RequestWork())
    await masking.clean_request({"messages": messages, "model": "m"})
    left = str(messages).replace(" ", "")
    text = answer_of(chance, [*masking.values])
    whole: dict[str, Any] = {"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]}
    await masking.clean_reply(Whole(whole))

    async def events() -> EventStream:
        at = 0
        while at < len(text):
            size = chance.choice((1, 2, 3, 5, 9, 30))
            delta = {"index": 0, "delta": {"content": text[at : at + size]}, "finish_reason": None}
            yield [Event.from_data({"choices": [delta]})]
            at += size
        yield [Event.from_data({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})]

    reply = Streamed(events())
    await masking.clean_reply(reply)
    sent = [sse.decode(event) async for batch in reply.events for event in batch]
    streamed = "".join(each["choices"][0]["delta"].get("content") or "" for each in sent if each)
    return [each for each in values if each in left], whole["choices"][0]["message"]["content"], streamed


@pytest.mark.parametrize("seed", range(8))
async def test_no_value_leaves_and_a_stream_is_restored_as_its_whole_text(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        left, whole, streamed = await trial(chance)
        assert left == [] and streamed == whole
