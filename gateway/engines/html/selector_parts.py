"""What selectors of CSS consist of, as `selectors` reads them and `selector_matcher` compares them. Pure data."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Specificity = tuple[int, int, int]
Combinator = Literal["", " ", ">", "+", "~"]


@dataclass(frozen=True, slots=True)
class AttributeTest:
    """`operator` is one of ~= |= ^= $= *= and =; `folded`: without case, `value` is in lower case."""

    name: str
    operator: str
    value: str
    folded: bool


@dataclass(frozen=True, slots=True)
class PlaceTest:
    """True for the element at place `step * n + first` (from 1) among its siblings, or those of its tag, or those that
    one of the selectors `of` matches, of which it must be one."""

    step: int
    first: int
    of_type: bool = False
    from_end: bool = False
    of: tuple["Selector", ...] = ()


@dataclass(frozen=True, slots=True)
class StateTest:
    """A pseudo-class of a page at rest, such as `root` and `checked`."""

    name: str


@dataclass(frozen=True, slots=True)
class ListTest:
    """`:is()`, or with `negated` `:not()`."""

    selectors: tuple["Selector", ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class HasTest:
    """`:has()`: selectors whose first steps have a combinator as well."""

    selectors: tuple["Selector", ...]


Test = AttributeTest | PlaceTest | StateTest | ListTest | HasTest


class Step(NamedTuple):
    """What one element must have: `tag` (empty: any), names (`#id`, `.class`, `[attribute]`), and tests beyond.
    `combinator` joins it to the step before, empty for the first."""

    combinator: Combinator
    tag: str
    names: tuple[str, ...]
    tests: tuple[Test, ...]


class Selector(NamedTuple):
    """Steps from the outermost element inwards."""

    steps: tuple[Step, ...]
    specificity: Specificity
