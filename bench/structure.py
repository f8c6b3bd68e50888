"""Structure kept in Markdown: headings, code blocks, table rows, list items, links and words of pages' main regions.

`python -m bench.structure FOLDER [--sample N]`: HTML files of a documentation package, for example of Debian's
postgresql-doc-15, sqlite3-doc, python-django-doc, git-doc. Counted on the one side in the region the page marks as its
content, without the navigation that the programs which made the page are known to put around it, and without links to
places of the page itself (its own table of contents); on the other in the Markdown as a CommonMark parser reads it.
Rows are those of tables that hold data; `verbatim` is the share of code blocks found in the Markdown character by
character.
"""

import argparse
import random
import re
from collections import Counter
from pathlib import Path

from gateway.engines.documents.page import extract
from gateway.engines.documents.parse_pool import ExtractOptions
from gateway.engines.html.cleaning import drop_code
from gateway.engines.html.encoding import decode
from gateway.engines.html.tree import drop_furniture, parse, region_of, remove_all, text_of
from gateway.engines.markdown import tables

KINDS = ("headings", "code", "verbatim", "rows", "items", "links", "words")
_AROUND = (  # navigation of DocBook, Sphinx, its Django theme, sqlite.org's own program, AsciiDoc
    "//div[@class='navheader' or @class='navfooter' or @class='nosearch' or @class='related' or @class='footer']",
    "//div[contains(@class,'sphinxsidebar') or @id='hd' or @id='ft' or @id='sidebar' or @id='footer']",
)


def in_page(markup: str, name: str) -> tuple[Counter[str], list[str]]:
    """Counts of the own structure of the page in the file `name`, and the text of its code blocks."""
    root = parse(markup)
    for path in _AROUND:
        for element in list(root.xpath(path)):
            remove_all([element])
    drop_code(root)
    drop_furniture(root)
    region = region_of(root).element
    found: Counter[str] = Counter()
    found["headings"] = sum(1 for e in region.iter("h1", "h2", "h3", "h4", "h5", "h6") if text_of(e))
    found["code"] = sum(1 for e in region.iter("pre") if text_of(e))
    found["rows"] = sum(len(tables.rows_of(e)) for e in region.iter("table") if tables.is_data(e, tables.rows_of(e)))
    found["items"] = sum(1 for e in region.iter("li") if text_of(e))
    found["links"] = sum(
        1
        for e in region.iter("a")
        if text_of(e) and not (e.get("href") or "#").startswith(("#", "javascript:", f"{name}#"))
    )
    found["words"] = len(re.findall(r"\w+", text_of(region)))
    blocks = ["".join(e.itertext()).replace("\xa0", " ").strip("\n").rstrip() for e in region.iter("pre") if text_of(e)]
    found["verbatim"] = len(blocks)
    return found, blocks


def in_markdown(text: str) -> Counter[str]:
    from markdown_it import MarkdownIt

    found: Counter[str] = Counter()
    names = {"heading_open": "headings", "fence": "code", "code_block": "code", "tr_open": "rows"}
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type in names:
            found[names[token.type]] += 1
        elif token.type == "list_item_open":
            found["items"] += 1
        found["links"] += sum(child.type == "link_open" for child in token.children or ())
    found["words"] = len(re.findall(r"\w+", re.sub(r"\]\([^)]*\)", "]", text)))
    return found


def unindented(text: str) -> str:
    """Code blocks moved to the left margin, as a reader of Markdown sees those inside list items."""
    out: list[str] = []
    width = 0
    for line in text.split("\n"):
        fence = re.match(r"(?:> ?)?( *(?:[-*]|\d+\.)? *)`{3,}", line)
        if fence:
            width = len(fence[1])
        out.append(line[width:] if line[:width].isspace() else line)
    return "\n".join(out)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--depth", default="basic")
    parser.add_argument("--url", default="http://pages.test/", help="where the pages are said to come from")
    parser.add_argument("--worst", type=int, default=0)
    options = parser.parse_args(argv)
    files = sorted(options.folder.rglob("*.html"))
    files = random.Random(3).sample(files, min(options.sample, len(files)))
    kept, total = Counter[str](), Counter[str]()
    rows = []
    for path in files:
        body = path.read_bytes()
        page, code = in_page(decode(body, "text/html"), path.name)
        content = extract(body, ExtractOptions(f"{options.url}{path.name}", depth=options.depth))["content"]
        made = in_markdown(content)
        made["verbatim"] = sum(text in unindented(content) for text in code)
        for kind in KINDS:
            kept[kind] += min(made[kind], page[kind])
            total[kind] += page[kind]
        rows.append((min(made["words"] / max(page["words"], 1), 1), path, page, made))
    print(len(files), " ".join(f"{kind} {kept[kind] / total[kind]:.3f}" for kind in KINDS if total[kind]))
    for share, path, page, made in sorted(rows, key=lambda row: row[0])[: options.worst]:
        print(f"{share:.2f} {path} {dict(page)} {dict(made)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
