"""Code blocks that are read as they run: of pages with their Markdown beside them, how many blocks are the same.

`python -m bench.code_blocks CHECKOUT [--worst N]`: a checkout of kepano/defuddle, whose `tests/fixtures` are pages and
whose `tests/expected` their Markdown. A block is exact when its lines are, and right when its language is too; blanks
at ends of lines do not count.
"""

import argparse
from pathlib import Path

from gateway.engines.documents.page import extract
from gateway.engines.documents.parse_pool import ExtractOptions


def blocks(markdown: str) -> list[tuple[str, str]]:
    """(language, code) of each block of code in Markdown."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").parse(markdown)
    found = [(token.info.strip(), token.content) for token in tokens if token.type in ("fence", "code_block")]
    return [(language, "\n".join(map(str.rstrip, code.strip("\n").split("\n")))) for language, code in found]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--worst", type=int, default=0, help="blocks that differ to print")
    options = parser.parse_args(argv)
    total = exact = right = 0
    missed: list[tuple[str, str]] = []
    for expected in sorted((options.checkout / "tests" / "expected").glob("*.md")):
        page = options.checkout / "tests" / "fixtures" / f"{expected.stem}.html"
        wanted = blocks(expected.read_text())[1:]  # the first holds the page's metadata
        if not wanted or not page.is_file():
            continue
        made = extract(page.read_bytes(), ExtractOptions(f"https://pages.test/{page.name}", "text/html"))["content"]
        found = blocks(made)
        codes = [code for _, code in found]
        total += len(wanted)
        exact += sum(code in codes for _, code in wanted)
        right += sum(block in found for block in wanted)
        missed += [(page.name, code) for _, code in wanted if code not in codes]
    print(f"{total} blocks, {exact / max(total, 1):.3f} exact, {right / max(total, 1):.3f} with their language")
    for name, code in missed[: options.worst]:
        print(f"--- {name}\n{code[:400]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
