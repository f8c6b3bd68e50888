"""Numbers of sheets and charts as their number formats show them: percentages, dates and currencies.

Source: ECMA-376, part 1, 18.8.31, 18.17.4 (dates); read 2026-11-28.
"""

import datetime
import functools
import re
import unicodedata
from typing import NamedTuple

_LITERAL = re.compile(r'"([^"]*+)"|\\(.)|\[([^\[\]]*+)\]|_.|\*.')
"""What a number format writes as it is, as a currency, colour or condition, or as a blank: a `%` in it multiplies
nothing. Source: ECMA-376, part 1, 18.8.31."""
_DIGITS = re.compile(r"[#0?,.]{0,40}[#0?][#0?,.]{0,40}")
_DATE = re.compile(r"[dmhysDMHYS]")
_HOURS = re.compile(r"\[[hms]+\]", re.IGNORECASE)
_FORMATS_REMEMBERED = 64
_EPOCHS = {False: datetime.datetime(1899, 12, 30), True: datetime.datetime(1904, 1, 1)}
_MAX_DAY = 2_958_466
"""The day after 9999-12-31."""


def number_text(text: str, number_format: str = "", *, is_1904: bool = False) -> str:
    """A number as its format shows it, where it alone would say another thing: `0.125` and `0.0%` give `12.5 %`, `1.5`
    and `"CHF" 0.00` give `CHF 1.50`, `45000` and `d.m.yy` give `2023-03-15`. What is no number stays."""
    try:
        value = float(text)
    except ValueError:
        return text
    shown = _format_of(number_format)
    if shown.is_date and 0 <= value < _MAX_DAY:
        return _day_text(value, _EPOCHS[is_1904], is_duration=shown.is_duration)
    if shown.is_percentage:
        return f"{value * 100:.12g} %"
    if shown.before or shown.after:
        number = f"{abs(value):{',' if shown.has_groups else ''}.{shown.decimals}f}"
        return f"{'-' if value < 0 else ''}{shown.before}{number}{shown.after}"
    return text if text.isdecimal() else f"{value:.15g}"  # as many digits as a sheet keeps


def _day_text(value: float, epoch: datetime.datetime, *, is_duration: bool) -> str:
    """A day, a time of day, or both: days since the epoch, and their share of a day."""
    passed = datetime.timedelta(seconds=round(value * 86_400))
    if is_duration:
        minutes, seconds = divmod(int(passed.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if value < 1:
        return (epoch + passed).time().isoformat()
    if value < 60 and epoch.year == 1899:  # the 29th of February 1900, which sheets count and there was not
        passed += datetime.timedelta(days=1)
    moment = epoch + passed
    return moment.date().isoformat() if moment.time() == datetime.time() else moment.isoformat(" ", "seconds")


class _Format(NamedTuple):
    """What a number format shows: a date or duration, a percentage; or a currency before or after so many decimals."""

    is_date: bool = False
    is_duration: bool = False
    is_percentage: bool = False
    before: str = ""
    after: str = ""
    decimals: int = 0
    has_groups: bool = False


@functools.lru_cache(maxsize=_FORMATS_REMEMBERED)
def _format_of(number_format: str) -> _Format:
    """`#,##0.00 [$€-407]` has two decimals, groups, and ` €` after them."""
    bare = _LITERAL.sub("", number_format)
    if "%" in bare:
        return _Format(is_percentage=True)
    is_duration = _HOURS.search(number_format) is not None
    if is_duration or (_DATE.search(bare.partition(";")[0]) and "General" not in bare):
        return _Format(is_date=True, is_duration=is_duration)
    first = _first_section(number_format)
    digits = _DIGITS.search(_LITERAL.sub(lambda match: "\0" * len(match[0]), first))
    if digits is None:
        return _Format()
    before, after = _shown(first[: digits.start()]), _shown(first[digits.end() :])
    if not (_is_money(before) or _is_money(after)):
        return _Format()
    pattern = digits[0]
    return _Format(False, False, False, before.lstrip(), after.rstrip(), len(pattern.partition(".")[2]), "," in pattern)


def _first_section(number_format: str) -> str:
    """The part for positive numbers, which ends at a `;` that is no literal."""
    ends = _LITERAL.sub(lambda match: "\0" * len(match[0]), number_format).find(";")
    return number_format if ends < 0 else number_format[:ends]


def _shown(affix: str) -> str:
    """The text that a format writes beside the digits: ` €` for `\\ [$€-407]`."""

    def literal(match: re.Match[str]) -> str:
        quoted, escaped, bracketed = match.groups()
        if bracketed is not None:
            return bracketed[1:].partition("-")[0] if bracketed.startswith("$") else ""
        return quoted or escaped or ("" if match[0][0] == "*" else " ")

    return _LITERAL.sub(literal, affix) if len(affix) > 1 else affix


def _is_money(text: str) -> bool:
    """Whether an affix has the sign of a currency, or its code of three letters (ISO 4217), or `kr`, `zł` or such."""
    bare = text.strip(" -\u00a0.")
    return any(unicodedata.category(char) == "Sc" for char in bare) or (bare.isalpha() and 2 <= len(bare) <= 4)
