"""The calls of a conversation that wait for a result, found by id or by name without a search. Knows no messages."""

from collections import defaultdict, deque
from typing import Any


class OpenCalls:
    """Calls in their order. Naive form: a list of `(id, name)` that is searched for each result."""

    def __init__(self) -> None:
        self._calls: list[tuple[Any, Any] | None] = []
        self._all: deque[int] = deque()
        self._of_id: defaultdict[str, deque[int]] = defaultdict(deque)
        self._of_name: defaultdict[str, deque[int]] = defaultdict(deque)

    def add(self, call_id: Any, name: Any) -> None:
        """Open a call. Ids and names come from the caller and may be of any type; only strings are found again."""
        number = len(self._calls)
        self._calls.append((call_id, name))
        self._all.append(number)
        if isinstance(call_id, str):
            self._of_id[call_id].append(number)
        if isinstance(name, str):
            self._of_name[name].append(number)

    def take(self, call_id: str | None, name: str | None) -> Any:
        """Close the call that a result answers, and return its id: by id; without one by name, else the oldest.

        None when there is no such call.
        """
        if call_id:
            return self._first(self._of_id.get(call_id))
        taken = self._first(self._of_name.get(name)) if name else None
        return self._first(self._all) if taken is None else taken

    def _first(self, numbers: deque[int] | None) -> Any:
        while numbers:
            number = numbers.popleft()
            call = self._calls[number]
            if call is not None:
                self._calls[number] = None
                return call[0]
        return None
