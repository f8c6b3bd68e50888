"""Whether a country's numbering plan allows a number, at about a tenth of the cost of parsing it.

Naive form: `phonenumbers.parse("+" + number)`, then `is_valid_number` and `is_possible_number`; a test compares them.
Uses the same metadata, compiled to one pattern a region. The answer is "unknown" where the parser would first remove
something from the number: a trunk prefix, or characters that are neither digits nor the usual separators.
"""

import re
import traceback
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import phonenumbers
from phonenumbers import PhoneMetadata, PhoneNumberDesc

Judgement: TypeAlias = Literal["valid", "possible", "none", "unknown"]
"""valid: a number of the plan; possible: of a length that the plan has; none: neither; unknown: the parser must
decide."""
_PUNCTUATION = b" -.()/"
_KINDS = (
    "fixed_line", "mobile", "toll_free", "premium_rate", "shared_cost", "personal_number", "voip", "pager", "uan",
    "voicemail",
)  # fmt: skip
_NON_GEOGRAPHIC = "001"
_REGIONS = {str(code).encode(): regions for code, regions in phonenumbers.COUNTRY_CODE_TO_REGION_CODE.items()}
"""Regions by country code; no country code is a prefix of another. All have one to three digits."""


def judge_number(raw: bytes) -> Judgement:
    """The judgement on a number without its `+`, from the country code on; separators are ignored."""
    digits = raw.translate(None, _PUNCTUATION)
    code = digits[:2]
    regions = _REGIONS.get(code)
    if regions is None:
        code = digits[:1] if digits[:1] in _REGIONS else digits[:3]
        regions = _REGIONS.get(code)
    if not digits.isdigit() or not 4 <= len(digits) <= 17:
        return "unknown"
    return "none" if regions is None else _judge_national(_plan(code, regions), digits[len(code) :])


def parse_number(raw: bytes) -> Judgement:
    """The judgement of the parser on the number behind a `+`: the naive form of `judge_number`."""
    try:
        number = phonenumbers.parse("+" + raw.decode(), None)
    except phonenumbers.NumberParseException as error:
        # The library keeps the exception in a frame of its own: a cycle, which would hold the text that is scanned.
        traceback.clear_frames(error.__traceback__)
        return "none"
    if phonenumbers.is_valid_number(number):
        return "valid"
    return "possible" if phonenumbers.is_possible_number(number) else "none"


def _judge_national(plan: "_Plan", number: bytes) -> Judgement:
    if plan.national_prefix is not None and plan.national_prefix.match(number):
        return "unknown"
    match = plan.leading_digits.match(number) if plan.leading_digits is not None else None
    region_by_digits = match.lastgroup if match else None
    for region in plan.other_regions:
        if region_by_digits is not None and plan.regions.index(region_by_digits) < plan.regions.index(region):
            break
        if _number_pattern(plan.code, region).fullmatch(number):
            return "valid"
    if region_by_digits is not None and _number_pattern(plan.code, region_by_digits).fullmatch(number):
        return "valid"
    return "possible" if len(number) in plan.lengths else "none"


class _Plan(NamedTuple):
    """The rules for all numbers of one country code."""

    code: bytes
    regions: tuple[str, ...]
    national_prefix: re.Pattern[bytes] | None
    """The trunk prefix, which the parser may remove."""
    lengths: frozenset[int]
    """The numbers of digits that are possible."""
    leading_digits: re.Pattern[bytes] | None
    """The leading digits of each region (a named group each), where several regions share the code."""
    other_regions: tuple[str, ...]
    """The regions that have no leading digits of their own."""


@lru_cache(512)
def _plan(code: bytes, regions: tuple[str, ...]) -> _Plan:
    plan, general = _metadata(code, regions[0])
    national_prefix = plan.national_prefix_for_parsing
    begin = {region: _metadata(code, region)[0].leading_digits for region in regions} if len(regions) > 1 else {}
    leading = "|".join(f"(?P<{region}>{digits})" for region, digits in begin.items() if digits)
    return _Plan(
        code,
        regions,
        re.compile(national_prefix.encode()) if national_prefix else None,
        frozenset(general.possible_length + general.possible_length_local_only),
        re.compile(leading.encode()) if leading else None,
        tuple(region for region in regions if not begin.get(region)),
    )


def _metadata(code: bytes, region: str) -> tuple[PhoneMetadata, PhoneNumberDesc]:
    """The region's metadata and its general description. Raises LookupError for a region without them."""
    if region == _NON_GEOGRAPHIC:
        plan = PhoneMetadata.metadata_for_nongeo_region(int(code))
    else:
        plan = PhoneMetadata.metadata_for_region(region)
    if plan is None or plan.general_desc is None:
        raise LookupError(f"phonenumbers has no metadata for the region {region}")
    return plan, plan.general_desc


@lru_cache(512)
def _number_pattern(code: bytes, region: str) -> re.Pattern[bytes]:
    """A pattern that matches exactly the region's valid numbers."""
    plan, general = _metadata(code, region)
    forms = "|".join(filter(None, (_kind_pattern(getattr(plan, kind), general.possible_length) for kind in _KINDS)))
    return re.compile(f"(?=(?:{general.national_number_pattern})\\Z)(?:{forms or '(?!)'})".encode())


def _kind_pattern(kind: PhoneNumberDesc | None, general: tuple[int, ...]) -> str:
    """The pattern of one kind of numbers, with its lengths; "" for a kind that the plan does not have."""
    if kind is None or not kind.national_number_pattern or kind.possible_length == (-1,):
        return ""
    lengths = kind.possible_length or general
    ends = (length + 1 for length in lengths if length + 1 not in lengths)
    starts = (length for length in lengths if length - 1 not in lengths)
    ranges = "|".join(f"\\d{{{start},{end - 1}}}" for start, end in zip(starts, ends, strict=True))
    return f"(?=(?:{ranges})\\Z)(?:{kind.national_number_pattern})"
