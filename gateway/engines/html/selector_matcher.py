"""Compares all selectors of a page with all its elements in one pass, in time that is linear in the page.

Every step of every selector is a bit. For an element, the steps that its ancestors and siblings allow are a few shifts
of theirs ("Shift-And", Baeza-Yates and Gonnet 1992, over a tree); of these stay the steps whose tag and names it has,
found by one look-up for each name, and whose tests it passes. Selectors inside `:is()` have lower bits than the step
that holds them, so they are decided first. Other matchers, lexbor's among them, try again from each ancestor: 200
nested elements cost it .16 s for `q div div div p`, twice as many ten times that.
"""

from collections.abc import Collection, Sequence
from typing import Any

from gateway.engines.html import selector_frames, selector_parts
from gateway.engines.html.element_tests import has_value, is_in_state
from gateway.engines.html.selector_frames import Frame, Remembered
from gateway.engines.html.selector_parts import AttributeTest, HasTest, ListTest, PlaceTest, Selector, StateTest, Step

MAX_STEPS = 20_000
"""Bits. Chosen: large frameworks come to 6,000 for one page; at half two of them are cut, at double each element costs
twice the 2 µs that a page with so many pays."""
MAX_WORK = 600_000
"""Tests of one page. Measured: pages of bench.extract make up to 211,000. At half some of them are near; at double
a hostile page takes four seconds, at 3 µs for each."""
_SLOTS = 8
"""Names that one step may have. Chosen: pages have five; a step with more never matches."""

_NO_NAME = " "
"""A name that no element has."""
_OwnTest = AttributeTest | PlaceTest | StateTest | HasTest


class SelectorMatcher:
    """`add` selectors, then `match` a document. `quirks`: ids and classes are compared without case."""

    def __init__(self, quirks: bool = False) -> None:
        self.is_cut = False
        self._quirks = quirks
        self._size = 0
        self._firsts = self._any_tag = self._tested = self._ends = self._needs_has = self._own_tested = 0
        self._joined = {" ": 0, ">": 0, "+": 0, "~": 0}
        self._tags: dict[str, int] = {}
        self._slots: list[tuple[int, dict[str, int]]] = []  # (the steps that fill the slot, those by name)
        self._attributes, self._ids = set[str](), set[str]()
        self._tests, self._lists = dict[int, tuple[_OwnTest, ...]](), dict[int, list[tuple[int, bool]]]()
        self._below_root, self._work = -1, MAX_WORK
        self._places, self._listed = Remembered[int, list[int]](), Remembered[int, int]()
        self._list_ends, self._rules = dict[ListTest, int](), dict[int, int]()
        self._has, self._has_bits = dict[HasTest, set[Any]](), dict[HasTest, int]()
        self._counted: dict[PlaceTest, dict[Any, tuple[int, int]]] = {}
        self._having, self._known = dict[Any, int](), Remembered[Any, int]()
        self._has_places = False

    def add(self, selector: Selector, rule: int) -> None:
        """Elements that the selector matches get the number `rule`, below 2**31."""
        end = self._append(selector)
        if end is not None:
            self._rules[end] = rule
            self._ends |= 1 << end

    def _append(self, selector: Selector) -> int | None:
        """The bit of the selector's last step; None when there is no room."""
        for step in selector.steps:
            for test in step.tests:
                self._prepare(test)
        if self._size + len(selector.steps) > MAX_STEPS:
            self.is_cut = True
            return None
        for at, step in enumerate(selector.steps):
            bit = 1 << self._size
            if at == 0:
                self._firsts |= bit
            else:
                self._joined[step.combinator] |= bit >> 1
            self._set_names(step, bit)
            if step.tests:
                self._set_tests(step, bit)
            self._size += 1
        return self._size - 1

    def _prepare(self, test: selector_parts.Test) -> None:
        if isinstance(test, ListTest) and test not in self._list_ends:
            ends = [self._append(selector) for selector in test.selectors]
            self._list_ends[test] = sum(1 << end for end in ends if end is not None)
        elif isinstance(test, HasTest):
            self._has[test] = set()
        elif isinstance(test, PlaceTest):
            self._has_places = True
            if test.of:
                self._counted[test] = {}

    def _set_tests(self, step: Step, bit: int) -> None:
        """Sorts the tests of a step: those for the root hold for all but one element, lists and a `:has()` are bits."""
        if any(isinstance(test, StateTest) and test.name in ("root", "scope") for test in step.tests):
            self._below_root &= ~bit
        self._tested |= bit
        lists = [(self._list_ends[test], test.negated) for test in step.tests if isinstance(test, ListTest)]
        self._lists[self._size] = lists
        has = next((test for test in step.tests if isinstance(test, HasTest)), None)
        if has is not None:
            self._has_bits[has] = self._has_bits.get(has, 0) | bit
            self._needs_has |= bit
        self._tests[self._size] = tuple(t for t in step.tests if not isinstance(t, ListTest) and t is not has)
        if self._tests[self._size]:
            self._own_tested |= bit

    def _set_names(self, step: Step, bit: int) -> None:
        if step.tag:
            self._tags[step.tag] = self._tags.get(step.tag, 0) | bit
        else:
            self._any_tag |= bit
        names = [name.lower() for name in step.names] if self._quirks else step.names
        for at, name in enumerate(names if len(names) <= _SLOTS else [_NO_NAME]):
            if at == len(self._slots):
                self._slots.append((0, {}))
            filled, by_name = self._slots[at]
            self._slots[at] = (filled | bit, by_name)
            by_name[name] = by_name.get(name, 0) | bit
            if name[0] == "[":
                self._attributes.add(name[1:-1])
            elif name[0] == "#":
                self._ids.add(name[1:])

    def match(
        self, elements: Sequence[Any], wanted: Collection[Any] | None = None
    ) -> tuple[dict[Any, int], list[tuple[int, ...]]]:
        """(the group of each element that has rules, the rules of each group). What is beyond the bounds has none, see
        `is_cut`. `elements`: all of a document, in its order. `wanted`: those that are asked for, if not all."""
        self._find_has(elements)
        self._find_places(elements)
        has_siblings = bool(self._joined["+"] | self._joined["~"])
        if wanted is not None:
            needed = selector_frames.with_boxes(wanted, with_siblings=has_siblings or self._has_places)
            elements = [element for element in elements if element in needed]
        found: dict[Any, int] = {}
        numbers: dict[int, int] = {}
        groups: list[tuple[int, ...]] = []
        around = Frame(None, self._firsts, self._firsts)
        frames = [around]
        for element in elements:
            parent = element.getparent()
            while around.element is not parent:
                frames.pop()
                around = frames[-1]
            bits = around.steps
            if has_siblings:
                bits |= (around.last_child & self._joined["+"]) << 1 | (around.children & self._joined["~"]) << 1
            bits &= self._named(element)
            if self._has_places:
                around.add(element)
            if bits:
                bits = self._tested_bits(element, around, bits)
            if has_siblings:
                around.last_child = bits
                around.children |= bits
            if len(element):
                around = around.inside(element, bits, self._firsts, self._joined)
                frames.append(around)
            if ends := bits & self._ends:
                if ends not in numbers:
                    numbers[ends] = len(groups)
                    groups.append(tuple(self._rules[bit] for bit in self._bits(ends)))
                found[element] = numbers[ends]
            if self._work <= 0:
                self.is_cut = True
                break
        return found, groups

    def _find_has(self, elements: Sequence[Any]) -> None:
        """Fills the sets of elements that have what a `:has()` asks for, and the steps that each passes by that."""
        selectors = [(test, selector) for test in self._has for selector in test.selectors]
        steps = [Selector((step,), (0, 0, 0)) for _, selector in selectors for step in selector.steps]
        matched = self._matched(elements, steps) if steps else []
        for test, selector in selectors:
            own, matched = matched[: len(selector.steps)], matched[len(selector.steps) :]
            ahead, work = selector_frames.elements_before(own, selector)
            self._work -= work
            self._has[test] |= ahead
        for test, passing in self._has.items():
            for element in passing:
                self._having[element] = self._having.get(element, 0) | self._has_bits.get(test, 0)

    def _find_places(self, elements: Sequence[Any]) -> None:
        """Fills the places of elements among those siblings which an `:nth-child(… of …)` counts."""
        tests = [test for test in self._counted for _ in test.of]
        matched = self._matched(elements, [selector for test in self._counted for selector in test.of]) if tests else []
        counted: dict[PlaceTest, set[Any]] = {}
        for test, found in zip(tests, matched, strict=True):
            counted.setdefault(test, set()).update(found)
        for test, found in counted.items():
            self._counted[test] = selector_frames.places_among(found, elements[0])
            self._work -= len(found)

    def _matched(self, elements: Sequence[Any], selectors: list[Selector]) -> list[set[Any]]:
        """The elements that each selector matches."""
        inner = SelectorMatcher(self._quirks)
        inner._work = self._work
        for number, selector in enumerate(selectors):
            inner.add(selector, number)
        found, groups = inner.match(elements)
        matched: list[set[Any]] = [set() for _ in selectors]
        left = inner._work
        for element, group in found.items():
            left -= len(groups[group])
            if left <= 0:
                break
            for number in groups[group]:
                matched[number].add(element)
        self._work = left
        self.is_cut = self.is_cut or inner.is_cut or left <= 0
        return matched

    def _tested_bits(self, element: Any, around: Frame, bits: int) -> int:
        """Takes out the steps with a test that the element does not pass."""
        if around.element is not None:
            bits &= self._below_root
        if bits & self._needs_has:
            bits &= ~self._needs_has | self._having.get(element, 0)
        return self._pass_tests(element, around, bits) if bits & self._tested else bits

    def _named(self, element: Any) -> int:
        """The steps whose tag and names an element has."""
        given = element.keys()
        identity = classes = None
        present: tuple[str, ...] = ()
        if given:
            if not self._attributes.isdisjoint(given):
                present = tuple(filter(self._attributes.__contains__, given))
            if self._ids and (identity := element.get("id")):
                identity = identity.lower() if self._quirks else identity
                identity = identity if identity in self._ids else None
            classes = element.get("class")
        key = (element.tag, identity, classes, present)
        if (known := self._known.get(key)) is not None:
            return known
        names = [f"#{identity}"] if identity else []
        names += [f".{name}" for name in (classes or "").split()]
        names += [f"[{name}]" for name in present]
        if self._quirks:
            names = [name.lower() for name in names]
        bits = self._any_tag | self._tags.get(element.tag, 0)
        for filled, by_name in self._slots:
            passing = ~filled
            for name in names:
                if name in by_name:
                    passing |= by_name[name]
            bits &= passing
        self._known.keep(key, bits, self._size)
        return bits

    def _bits(self, bits: int) -> list[int]:
        """The places of the set bits, lowest first."""
        places = []
        while bits:
            lowest = bits & -bits
            places.append(lowest.bit_length() - 1)
            bits ^= lowest
        self._work -= len(places)
        return places

    def _pass_tests(self, element: Any, frame: Frame, bits: int) -> int:
        """Takes out the steps with a test that the element does not pass. Lists alone give equal bits equal answers."""
        before, by_lists = bits, not bits & self._own_tested
        if by_lists and (known := self._listed.get(before)) is not None:
            return known
        tested = bits & self._tested
        if (places := self._places.get(tested)) is None:
            places = self._bits(tested)
            self._places.keep(tested, places, self._size)
        self._work -= len(places)
        for place in places:
            if not self._is_listed(place, bits) or not all(
                self._passes(test, element, frame) for test in self._tests[place]
            ):
                bits &= ~(1 << place)
        if by_lists:
            self._listed.keep(before, bits, self._size)
        return bits

    def _is_listed(self, place: int, bits: int) -> bool:
        """Whether an element is in the lists of a step that it must be in, and in none that it must not be in."""
        for ends, negated in self._lists[place]:
            self._work -= 1
            if bool(bits & ends) == negated:
                return False
        return True

    def _passes(self, test: _OwnTest, element: Any, frame: Frame) -> bool:
        self._work -= 1
        if isinstance(test, AttributeTest):
            return has_value(test, element.get(test.name, ""))
        if isinstance(test, PlaceTest):
            if not test.of:
                return selector_frames.stands_in(test, element, frame)
            return selector_frames.stands(test, self._counted[test].get(element))
        return element in self._has[test] if isinstance(test, HasTest) else is_in_state(test, element)
