"""What `json_pieces` asks of those who keep parts of a document as JSON, instead of its decoded values. Pure."""

from typing import Any, Protocol


class Pack(Protocol):
    """Takes one list or object of a document as JSON, as it is read."""

    def open(self, name: str, *, is_list: bool) -> None:
        """A list or an object in it begins, itself at first. `name`: of the member; empty for one of a list."""

    def add(self, members: Any, *, is_run: bool) -> None:
        """Decoded members of the innermost of these. `is_run`: the next JSON is these members, and nothing else."""

    def keep(self, raw: bytes | bytearray) -> None:
        """The next JSON."""

    def close(self) -> None:
        """The innermost of these has ended."""

    def end(self) -> Any:
        """The value that the decoded document gets in its place."""


class Packer(Protocol):
    """Decides what of one document is kept as JSON, and what the rest may take. Long texts with one of the `utf8_names`
    become `long_texts.Utf8Text`."""

    utf8_names: frozenset[str]

    def begin(self, name: str, *, is_list: bool) -> Pack | None:
        """For a list or object that is longer than a window; None if it is to be decoded."""

    def weigh(self, root: Any, words: dict[str, str]) -> None:
        """Look at decoded members, and pack those among them. `words`: strings that are shared."""
