"""The tables of the detectors: text files beside this one, with rows under headings `[kind] remark`.

Lines that begin with `#` are remarks. Rows before the first heading have the kind "".
"""

from importlib import resources


def rows(file: str, kind: str = "") -> list[str]:
    """The rows of a kind, in order."""
    found, is_kind = list[str](), not kind
    for line in resources.files(__package__).joinpath(file).read_text().splitlines():
        if line.startswith("["):
            is_kind = line.startswith(f"[{kind}]")
        elif is_kind and line and line[0] != "#":
            found.append(line)
    return found


def words(file: str, kind: str) -> frozenset[bytes]:
    """The words of all rows of a kind."""
    return frozenset(" ".join(rows(file, kind)).encode().split())


def either(kind: str) -> bytes:
    """The pattern of any row of a kind of `names.txt`, in the common syntax of re and RE2."""
    return "|".join(rows("names.txt", kind)).encode()
