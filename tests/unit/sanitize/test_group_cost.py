"""Many short strings with findings: what looking at each alone may cost, and that all are masked all the same."""

from gateway.config.settings import Sanitize
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.slot_mask import SlotMasker
from gateway.sanitize.work_budget import SharedAllowance
from gateway.texts import GroupSlot, TextSlot


def _masked(units: int) -> tuple[list[str], int]:
    texts = [f"ghp_{number:036d}x{number}" for number in range(50)] + ["an ordinary text"]
    texts = [text.replace("0000000000", "a8Zk2Qp9Lx") for text in texts]
    holder: list[str] = list(texts)
    slots = [TextSlot(holder, index, f"[{index}]") for index in range(len(holder))]
    allowance, notes = SharedAllowance(units), []
    masker = SlotMasker(
        Scanner(), actions(Sanitize(), "requests"), lambda entity, action, where: notes.append(entity), allowance
    )
    steps = list(masker.steps(GroupSlot.of(slots)))
    assert len(steps) > 50
    return holder, len(notes)


def test_findings_count_as_they_stand_beside_other_lines_once_the_allowance_is_spent() -> None:
    alone, alone_notes = _masked(10**9)
    together, notes = _masked(0)
    assert alone_notes == notes == 50
    assert together == alone
    assert alone[-1] == "an ordinary text"


def test_a_long_text_with_an_emoji_is_masked_as_a_short_one_is() -> None:
    text = "😀 mail me@firma-beispiel.de " + "words " * 20_000 + "password: hunter2hunter2"
    holder = {"content": text}
    masker = SlotMasker(Scanner(), actions(Sanitize(), "requests"), lambda entity, action, where: None)
    assert masker.clean(TextSlot(holder, "content", "content"))
    assert "hunter2" not in holder["content"]
    assert holder["content"].startswith("😀 mail ")
    assert not masker.clean(TextSlot({"content": "я" * 100_000}, "content", "content"))
