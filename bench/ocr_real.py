"""How well the embedded engine reads real pages with known text: `python -m bench.ocr_real DIR [--part open|held]`.

DIR holds `NAME.json` files and the pictures they name (shared data `ocr-real`). A third of each kind is held out, by a
hash of the name, and scored with `--part held` only, so that thresholds are tuned on the rest. The engine runs in this
process, on one core; `seconds` is CPU time a page.
"""

import argparse
import json
import time
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from statistics import mean

from bench.ocr_scores import Truth, score
from gateway.ocr.server.engine import OcrEngine
from gateway.wire.ocr import FREE, MARKDOWN

COLUMNS = ("cer", "f1", "order", "code", "code_loose", "junk", "table", "seconds")
PROMPTS = {"free": FREE.prompt, "markdown": MARKDOWN.prompt}


def part_of(name: str) -> str:
    return "held" if int(sha256(name.encode()).hexdigest(), 16) % 3 == 0 else "open"


def pictures(folder: Path, part: str, only: str, few: int) -> list[Path]:
    """The JSON files of one part, at most `few` of each kind (0: all); `only`: kinds by number, `1,2`."""
    chosen: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.glob("*.json")):
        kind = path.name.split("-")[0]
        if part_of(path.stem) == part and (not only or kind.lstrip("0") in only.split(",")):
            chosen[kind].append(path)
    return [path for paths in chosen.values() for path in (paths[:few] if few else paths)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ocr_real")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", choices=("open", "held"), default="open")
    parser.add_argument("--only", default="")
    parser.add_argument("--few", type=int, default=0)
    parser.add_argument("--modes", default="free,markdown")
    parser.add_argument("--each", action="store_true", help="a line for every picture")
    options = parser.parse_args()
    engine = OcrEngine(1)
    engine.load()
    rows: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for path in pictures(options.folder, options.part, options.only, options.few):
        truth: Truth = json.loads(path.read_text())
        data = (options.folder / truth["file"]).read_bytes()
        for mode in options.modes.split(","):
            begun = time.process_time()
            answer = "".join(engine.answer(data, PROMPTS[mode]))
            row = {**score(truth, answer), "seconds": time.process_time() - begun}
            rows[f"{path.name[:2]} {truth['category']}", mode].append(row)
            if options.each:
                print(f"{path.stem:28} {mode:9}" + _columns([row]), flush=True)
    print(f"{'kind':16} {'mode':9} {'n':>3}" + "".join(f" {column:>10}" for column in COLUMNS))
    for (kind, mode), part in sorted(rows.items()):
        print(f"{kind:16} {mode:9} {len(part):>3}" + _columns(part))


def _columns(rows: list[dict[str, float]]) -> str:
    values = ([row[column] for row in rows if column in row] for column in COLUMNS)
    return "".join(f" {mean(column):>10.3f}" if column else f" {'-':>10}" for column in values)


if __name__ == "__main__":
    main()
