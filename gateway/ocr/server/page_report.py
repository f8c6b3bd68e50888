"""What is told about the reading of one page beside its text: how sure it is, its scripts, and what was not read.

Collected while the page is read, in the order of the answer. Knows neither pixels nor the wire. The thresholds are
documented in docs/ocr.md.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from gateway.domain import Json
from gateway.geometry.boxes import Line
from gateway.ocr.layout.render import scripts_of

LOW_CONFIDENCE = 0.8
"""A line below it is uncertain. Measured on the open part of ocr-real and on pages in ten scripts: of lines in Latin
letters one in twenty is below, of lines in letters that the models do not know nine in ten. At half only noise is
uncertain; at double (above 1) every line is."""
LOW_SHARE = 0.2
"""A page with a larger share of its letters in uncertain lines is uncertain. Measured on the same pages: the worst
readable one has .15. At half, pages with formulas are uncertain; at double, half a page may be gibberish."""
MANY_UNREAD = 0.3
"""A page on which a larger share of what looks like lines could not be read at all is uncertain. Chosen: photographs
have texture that looks like a line or two. At half, photographs are uncertain; at double, half a page may be missing.
"""

Box = Sequence[int]


class PageReport:
    """The report of one page. `add` takes its blocks in reading order; `warn` what the caller must know."""

    def __init__(self, box: Callable[[Line], Box]) -> None:
        """`box`: the box of a line in thousandths of the image, called for details alone."""
        self._box = box
        self._blocks: list[list[Line]] = []
        self._unread = 0
        self._warnings: Counter[str] = Counter()
        self._unreadable: list[str] = []

    def add(self, lines: Iterable[Line], *, continues: bool = False) -> None:
        """One block of the answer, its lines read; those without text count as unread. `continues`: they belong to the
        block before."""
        block = list(lines)
        self.count_unread(block)
        if not (continues and self._blocks):
            self._blocks.append([])
        self._blocks[-1] += [line for line in block if line.text]

    def count_unread(self, lines: Iterable[Line]) -> None:
        """Counts the lines without text, which are in no block."""
        self._unread += sum(not line.text for line in lines)

    def warn(self, warning: str) -> None:
        """A sentence for the caller, given once however often it is added."""
        self._warnings[warning] += 1

    def name_unreadable(self, script: str, warning: str) -> None:
        """A script that is on the page and was not read, and what to tell about it."""
        self._unreadable.append(script)
        self.warn(warning)

    def fields(self, *, details: bool) -> Json:
        """`{low_confidence, scripts: [name], warnings: [sentence]}`, with `details` also
        `lines: [{text, box, confidence, page, block}]`; pages and blocks are counted from 1."""
        lines = [line for block in self._blocks for line in block]
        warnings = [*self._quality_warnings(lines), *self._warnings]
        scripts = scripts_of(" ".join(line.text for line in lines))
        fields: Json = {
            "low_confidence": self._is_low(lines),
            "scripts": [*scripts, *(name for name in dict.fromkeys(self._unreadable) if name not in scripts)],
            "warnings": warnings,
        }
        if details:
            fields["lines"] = [
                {
                    "text": line.text,
                    "box": list(self._box(line)),
                    "confidence": round(line.fit, 3),
                    "page": 1,
                    "block": number,
                }
                for number, block in enumerate(self._blocks, 1)
                for line in block
            ]
        return fields

    def _is_low(self, lines: list[Line]) -> bool:
        return bool(self._unreadable or self._is_unsure(lines) or self._is_partly_unread(lines))

    def _is_unsure(self, lines: list[Line]) -> bool:
        letters = sum(len(line.text) for line in lines)
        return sum(len(line.text) for line in lines if line.fit < LOW_CONFIDENCE) > LOW_SHARE * letters

    def _is_partly_unread(self, lines: list[Line]) -> bool:
        return self._unread > MANY_UNREAD * (len(lines) + self._unread)

    def _quality_warnings(self, lines: list[Line]) -> list[str]:
        warnings = []
        if self._is_unsure(lines):
            unsure = sum(line.fit < LOW_CONFIDENCE for line in lines)
            warnings.append(
                f"low confidence: {unsure} of {len(lines)} lines are uncertain and may be misread; check them against"
                " the image"
            )
        if self._is_partly_unread(lines):
            warnings.append(f"{self._unread} places that look like lines of text could not be read and were left out")
        return warnings
