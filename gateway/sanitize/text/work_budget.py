"""Work budget of one scan. Detectors charge each candidate they judge; overspending raises BudgetExceeded.

A text whose candidates stand too close for its budget is not judged but masked by `fallback_mask`. So no filler,
however it is made, hides a value or takes more time than its length allows. The limit is set by what people write:
settings that are nothing but secrets and the densest dumps of customers (`bench.pii_rows`) need nineteen twentieths
of it, tables and text full of escapes half or more, logs a quarter, articles a few hundredths.

A charge is what the work took, measured, so that no kind of candidate is cheap to fill a text with. What is charged too
little is what `bench.pii_fuzz` finds; what is charged too much crowds ordinary text.
"""

_LEAST = 26_000
"""What a short text may spend: some checks are bounded by their number, however long the text is."""


class BudgetExceeded(Exception):
    """The text holds more candidates than can be judged in its time."""


class WorkBudget:
    """What may still be spent on a text of `size` characters: a unit for each, which is some 0.3 microseconds."""

    __slots__ = ("left",)

    def __init__(self, size: int) -> None:
        self.left = max(_LEAST, size)

    def spend(self, cost: int) -> None:
        """Raises Crowded when nothing is left."""
        self.left -= cost
        if self.left < 0:
            raise BudgetExceeded
