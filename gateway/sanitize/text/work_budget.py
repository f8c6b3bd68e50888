"""What one look at a text may cost.

Every candidate that a detector judges is paid for. A text in which they stand so close that judging each would take
too long is not judged: what is done with it then is `fallback_mask`'s matter. So no filler, however it is made, hides
a value, and none takes more time than its length allows. The limit is set by what people write: settings that are nothing
but secrets and the densest dumps of customers (`bench.pii_rows`) need nineteen twentieths of it, tables and text full of
escapes half or more, logs a quarter, articles a few hundredths.

A charge is what the work took, measured, so that no kind of candidate is cheap to fill a text with. What is charged too
little is what `bench.pii_fuzz` finds; what is charged too much crowds ordinary text.
"""

_LEAST = 26_000
"""What a short text may spend: some checks are bounded by their number, however long the text is."""


class Crowded(Exception):
    """The text holds more candidates than can be judged in its time."""


class Effort:
    """What may still be spent on a text of `size` characters: a unit for each, which is some 0.3 microseconds."""

    __slots__ = ("left",)

    def __init__(self, size: int) -> None:
        self.left = max(_LEAST, size)

    def spend(self, cost: int) -> None:
        """Raises Crowded when nothing is left."""
        self.left -= cost
        if self.left < 0:
            raise Crowded
