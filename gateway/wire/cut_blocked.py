"""Cuts a blocked answer: of its texts only those up to the finding remain. Knows no dialect."""

from gateway.texts import TextUnit


def withhold(unit: TextUnit, where: str | None) -> None:
    """Empties the texts of a blocked unit that come after the one with the finding, in place.

    The sanitizer has cut that one at the finding; a JSON document or URL is emptied whole. `where` is the `param` of
    the refusal: the path of a slot, or a path inside the slot's document; for any other, all texts are emptied.
    Ids, names and property names stay.
    """
    is_behind = not any(_holds(slot.where, where) for slot in unit.slots)
    for slot in unit.slots:
        if slot.form in ("name", "label", "group"):
            is_behind = is_behind or _holds(slot.where, where)
        elif not slot.is_there:
            continue
        elif is_behind:
            slot.text = ""
        elif _holds(slot.where, where):
            is_behind = True
            if slot.form != "text":
                slot.text = ""


def _holds(slot: str, where: str | None) -> bool:
    return where is not None and where.startswith(slot)
