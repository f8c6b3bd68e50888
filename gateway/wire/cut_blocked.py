"""What is left of an answer that must not be shown: its texts up to the finding."""

from gateway.domain import TextUnit


def withhold(unit: TextUnit, where: str | None) -> None:
    """Blank a blocked unit's texts behind the one with the finding, which the sanitizer has cut there; a document goes
    whole. `where` is what the refusal names: a slot, or a place inside its document; of an unknown one all is blanked.
    """
    is_behind = not any(_holds(slot.where, where) for slot in unit.slots)
    for slot in unit.slots:
        if is_behind:
            slot.text = ""
        elif _holds(slot.where, where):
            is_behind = True
            if slot.form != "text":
                slot.text = ""


def _holds(slot: str, where: str | None) -> bool:
    return where is not None and where.startswith(slot)
