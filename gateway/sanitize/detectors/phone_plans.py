"""What a country's numbering plan says of a number after `+`, at a tenth of what parsing it costs.

Answers are `phonenumbers`' own, from the same metadata. Not answered is where its parser would first strip something
from the number: a trunk prefix, or signs that are neither digits nor the usual separators.
"""

import re
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import phonenumbers
from phonenumbers import PhoneMetadata, PhoneNumberDesc

Judgement: TypeAlias = Literal["valid", "possible", "none", "unknown"]
_PUNCTUATION = b" -.()/"
_KINDS = (
    "fixed_line", "mobile", "toll_free", "premium_rate", "shared_cost", "personal_number", "voip", "pager", "uan",
    "voicemail",
)  # fmt: skip
_NON_GEOGRAPHIC = "001"
_REGIONS = {str(code).encode(): regions for code, regions in phonenumbers.COUNTRY_CODE_TO_REGION_CODE.items()}
"""By country code, of which none begins another."""


def judge(raw: bytes) -> Judgement:
    """`raw` is what stands behind the `+`, from the country code on."""
    digits = raw.translate(None, _PUNCTUATION)
    code = digits[:2]
    regions = _REGIONS.get(code)
    if regions is None:
        code = digits[:1] if digits[:1] in _REGIONS else digits[:3]
        regions = _REGIONS.get(code)
    if not digits.isdigit() or not 4 <= len(digits) <= 17:
        return "unknown"
    return "none" if regions is None else _judge_national(_plan(code, regions), digits[len(code) :])


def _judge_national(plan: "_Plan", number: bytes) -> Judgement:
    if plan.prefix is not None and plan.prefix.match(number):
        return "unknown"
    begun = plan.beginnings.match(number) if plan.beginnings is not None else None
    own = begun.lastgroup if begun else None
    for region in plan.bare:
        if own is not None and plan.regions.index(own) < plan.regions.index(region):
            break
        if _forms(plan.code, region).fullmatch(number):
            return "valid"
    if own is not None and _forms(plan.code, own).fullmatch(number):
        return "valid"
    return "possible" if len(number) in plan.lengths else "none"


class _Plan(NamedTuple):
    """What all numbers behind a country code have in common."""

    code: bytes
    regions: tuple[str, ...]
    prefix: re.Pattern[bytes] | None
    """What a parser may strip."""
    lengths: frozenset[int]
    """Those that are possible at all."""
    beginnings: re.Pattern[bytes] | None
    """How the numbers of each region begin, where several share the code."""
    bare: tuple[str, ...]
    """The regions that are not told by that."""


@lru_cache(512)
def _plan(code: bytes, regions: tuple[str, ...]) -> _Plan:
    plan, general = _metadata(code, regions[0])
    prefix = plan.national_prefix_for_parsing
    begin = {region: _metadata(code, region)[0].leading_digits for region in regions} if len(regions) > 1 else {}
    told = "|".join(f"(?P<{region}>{digits})" for region, digits in begin.items() if digits)
    return _Plan(
        code,
        regions,
        re.compile(prefix.encode()) if prefix else None,
        frozenset(general.possible_length + general.possible_length_local_only),
        re.compile(told.encode()) if told else None,
        tuple(region for region in regions if not begin.get(region)),
    )


def _metadata(code: bytes, region: str) -> tuple[PhoneMetadata, PhoneNumberDesc]:
    """The region's plan, and what all its numbers have in common."""
    if region == _NON_GEOGRAPHIC:
        plan = PhoneMetadata.metadata_for_nongeo_region(int(code))
    else:
        plan = PhoneMetadata.metadata_for_region(region)
    if plan is None or plan.general_desc is None:
        raise LookupError(region)
    return plan, plan.general_desc


@lru_cache(512)
def _forms(code: bytes, region: str) -> re.Pattern[bytes]:
    """Every form that the region's numbers have."""
    plan, general = _metadata(code, region)
    forms = "|".join(filter(None, (_form(getattr(plan, kind), general.possible_length) for kind in _KINDS)))
    return re.compile(f"(?=(?:{general.national_number_pattern})\\Z)(?:{forms or '(?!)'})".encode())


def _form(kind: PhoneNumberDesc | None, general: tuple[int, ...]) -> str:
    """A kind of numbers as a pattern; "" for one that the plan does not have."""
    if kind is None or not kind.national_number_pattern or kind.possible_length == (-1,):
        return ""
    lengths = kind.possible_length or general
    ends = (length + 1 for length in lengths if length + 1 not in lengths)
    starts = (length for length in lengths if length - 1 not in lengths)
    ranges = "|".join(f"\\d{{{start},{end - 1}}}" for start, end in zip(starts, ends, strict=True))
    return f"(?=(?:{ranges})\\Z)(?:{kind.national_number_pattern})"
