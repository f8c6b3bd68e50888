"""Work budget of one scan. Detectors charge each candidate they check; overspending raises BudgetExceeded.

A text that holds more candidates than its budget allows is not checked further: `Scanner` masks it as a whole. So no
filler can hide a value among candidates, or make a scan slower than linear. One unit is about 0.4 µs; a text gets 1.6
units a character, so that a megabyte takes about a second at most. Measured with the densest ordinary texts
(`bench.pii_rows`): settings of secrets only and the densest customer dumps need nine tenths of the budget, tables and
escaped text half, logs a fifth, articles a few hundredths.

A charge is the measured cost of its step, so that no kind of candidate is cheap filler. `python -m bench.pii_fuzz`
finds charges that are too low; charges that are too high send ordinary texts to the fallback.
"""

_UNITS_FOR_FIVE = 8
"""Units of five characters."""
_MIN_UNITS = 26_000
"""Budget of short texts, about 8 ms. Some checks are limited in number, not by length (12 parsed telephone numbers at
480 units are 5,760, 200 id checks at 12 or more 2,400)."""
_SHARED_UNITS = 32 * _MIN_UNITS
"""What one request may spend beyond 1.6 units a character of its texts, about 250 ms: the walk over
them (`sanitize.pipeline.RequestWork`), and what short texts cost beyond their length. A short text of numbers
spends 0 to 60 units more than its length and one of escapes a thousand, so eight hundred texts of the densest kind
are scanned in full."""


class BudgetExceeded(Exception):
    """The text holds more candidates than its budget allows to check."""


class SharedAllowance:
    """What the texts of one request may still spend together, beyond 1.6 units a character each."""

    __slots__ = ("left",)

    def __init__(self, units: int = _SHARED_UNITS) -> None:
        self.left = units


class WorkBudget:
    """Units of about 0.4 µs that the scan of `size` characters may still spend; `allowance` is its request's."""

    __slots__ = ("_allowance", "_lent", "left")

    def __init__(self, size: int, allowance: SharedAllowance | None = None) -> None:
        own = size * _UNITS_FOR_FIVE // 5
        more = max(0, _MIN_UNITS - own)
        self._lent = more if allowance is None else max(0, min(more, allowance.left))
        self._allowance = allowance
        self.left = own + self._lent

    def spend(self, cost: int) -> None:
        """Charge `cost` units. Raises BudgetExceeded when more is spent than there was."""
        self.left -= cost
        if self.left < 0:
            raise BudgetExceeded

    def settle(self) -> None:
        """Charge the request's allowance with what was spent beyond 1.6 units a character. Call it once, at the end."""
        if self._allowance is not None:
            self._allowance.left -= max(0, self._lent - max(0, self.left))
