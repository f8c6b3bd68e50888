"""Structure kept in Markdown: headings, code blocks, table rows, list items, links and words of pages' main regions.

`python -m bench.structure FOLDER [--sample N]`: HTML files of a documentation package. Counted on the one side in the
region the page marks as its content, on the other in the Markdown as a CommonMark parser reads it.
"""

import argparse
import random
import re
from collections import Counter
from pathlib import Path

from gateway.engines.charset import decode
from gateway.engines.dom import drop_code, drop_furniture, parse, region_of, text_of
from gateway.engines.extract import ExtractOptions, extract

KINDS = ("headings", "code", "rows", "items", "links", "words")


def in_page(markup: str) -> Counter[str]:
    root = parse(markup)
    drop_code(root)
    drop_furniture(root)
    region = region_of(root).element
    found: Counter[str] = Counter()
    found["headings"] = sum(1 for e in region.iter("h1", "h2", "h3", "h4", "h5", "h6") if text_of(e))
    found["code"] = sum(1 for e in region.iter("pre") if text_of(e))
    found["rows"] = sum(1 for e in region.iter("tr") if text_of(e) and next(e.iterdescendants("table"), None) is None)
    found["items"] = sum(1 for e in region.iter("li") if text_of(e))
    found["links"] = sum(
        1 for e in region.iter("a") if text_of(e) and not (e.get("href") or "#").startswith(("#", "javascript:"))
    )
    found["words"] = len(re.findall(r"\w+", text_of(region)))
    return found


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


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--depth", default="basic")
    parser.add_argument("--worst", type=int, default=0)
    options = parser.parse_args(argv)
    files = sorted(options.folder.rglob("*.html"))
    files = random.Random(3).sample(files, min(options.sample, len(files)))
    kept, total = Counter[str](), Counter[str]()
    rows = []
    for path in files:
        body = path.read_bytes()
        page = in_page(decode(body, "text/html"))
        content = extract(body, ExtractOptions(f"http://docs.test/{path.name}", depth=options.depth))["content"]
        made = in_markdown(content)
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
