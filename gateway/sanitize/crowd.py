"""What one look at a text may cost.

Every candidate that a detector judges is paid for. A text in which they stand so close that judging each would take
too long is not judged: what is done with it then is `remains`' matter. So no filler, however it is made, hides a value,
and none takes more time than its length allows. The limit is set by what people write: settings that are nothing but
secrets and the densest dumps of customers (`bench.pii_rows`) need nineteen twentieths of it, logs and tables a third,
articles a few hundredths.
"""

_LEAST = 26_000


class Crowded(Exception):
    """The text holds more candidates than can be judged in its time."""


class Effort:
    """What may still be spent on a text of `size` characters: for 20 of them 21 units, each some 0.3 microseconds."""

    __slots__ = ("left",)

    def __init__(self, size: int) -> None:
        self.left = max(_LEAST, size)

    def spend(self, cost: int) -> None:
        """Raises Crowded when nothing is left."""
        self.left -= cost
        if self.left < 0:
            raise Crowded
