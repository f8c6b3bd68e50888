"""Words of PDFs against those that poppler's pdftotext and pdfminer.six read: `python -m bench.pdf_words FOLDER…`.

Agreement of two readers is the F1 of their bags of words, case and line-end hyphens folded. Of each file our
agreement with the program that is nearer to ours counts, since either may be wrong; files in which neither reads ten
words are left out. Printed: the mean, the
agreement of the two programs with one another, the worst ten, and what failed by any other error than `Unreadable`.
Needs pdftotext and pdfminer.six, which the gateway itself does not use.
"""

import argparse
import multiprocessing
import re
import subprocess
import unicodedata
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from gateway.engines.documents.reader import read_document
from gateway.errors import GatewayError

LEAST_WORDS, LIMIT_S = 10, 90
_HYPHEN = re.compile(r"(?<=[a-zà-ÿ])[-\xad]\s*\n\s*(?=[a-zà-ÿ])")
_MARK = re.compile(r"^--- page \d+ ---$", re.MULTILINE)
_WORD = re.compile(r"\w+")


class Row(NamedTuple):
    """A file: our agreement with each program, and theirs with one another; `failure` of ours, or ""."""

    path: Path
    poppler: float
    pdfminer: float
    theirs: float
    failure: str = ""

    @property
    def agreement(self) -> float:
        return max(self.poppler, self.pdfminer)


def bag(text: str) -> Counter[str]:
    """The words of a text: `Docu-\\nment` is `document`."""
    folded = unicodedata.normalize("NFKC", _HYPHEN.sub("", text)).casefold()
    return Counter(_WORD.findall(folded))


def agreement(one: Counter[str], other: Counter[str]) -> float:
    """F1 of two bags, 0 to 1."""
    return 2 * (one & other).total() / max(1, one.total() + other.total())


def poppler_text(path: Path) -> str:
    """What pdftotext prints."""
    return subprocess.run(
        ["pdftotext", str(path), "-"], capture_output=True, timeout=LIMIT_S, check=False
    ).stdout.decode("utf-8", "replace")


def pdfminer_text(path: Path) -> str:
    """What pdfminer.six prints, in a process of its own: it may take minutes."""
    call = f"import sys; from pdfminer.high_level import extract_text; sys.stdout.write(extract_text({str(path)!r}))"
    command = ["python", "-c", call]
    try:
        return subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False).stdout.decode(
            "utf-8", "replace"
        )
    except subprocess.TimeoutExpired:
        return ""


def compared(path: Path) -> Row | None:
    """The row of a file; None where there is nothing to compare with."""
    poppler, pdfminer = bag(poppler_text(path)), bag(pdfminer_text(path))
    failure, text = "", ""
    try:
        text = read_document("pdf", path.read_bytes(), plain=True).text
    except GatewayError as error:
        failure = error.message
    except Exception as error:  # a crash, which is what is sought
        failure = f"CRASH {error!r}"
    ours = bag(_MARK.sub("", text))
    others = [each for each in (poppler, pdfminer) if each.total() >= LEAST_WORDS]
    if not others:
        return Row(path, 1.0, 1.0, 1.0, failure) if failure.startswith("CRASH") else None
    with_each = [agreement(ours, each) for each in (poppler, pdfminer) if each in others]
    return Row(path, with_each[0], with_each[-1], agreement(others[0], others[-1]), failure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    paths = sorted(path for folder in parser.parse_args().folders for path in folder.rglob("*.pdf"))
    with multiprocessing.Pool(2, maxtasksperchild=20) as pool:
        rows = [row for row in pool.imap(compared, paths) if row is not None]
    for row in sorted(rows, key=lambda row: row.agreement)[:10]:
        print(f"{row.poppler:.3f} {row.pdfminer:.3f} (theirs {row.theirs:.3f}) {row.path} {row.failure}")
    crashes = [row for row in rows if row.failure.startswith("CRASH")]
    for row in crashes:
        print(row.path, row.failure)
    print(
        f"{len(rows)} files: agreement {mean(row.agreement for row in rows):.4f} (poppler "
        f"{mean(row.poppler for row in rows):.4f}, pdfminer {mean(row.pdfminer for row in rows):.4f}; theirs "
        f"{mean(row.theirs for row in rows):.4f}), crashes {len(crashes)}"
    )


if __name__ == "__main__":
    main()
