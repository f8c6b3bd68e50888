"""Learns which letters the embedded OCR reader takes those of other scripts for: `python -m bench.train_scripts DIR`.

DIR holds pictures and `NAME.json` files with `file` and `script` (a name of gateway/ocr/scripts/packs.py, or Latin).
Writes gateway/ocr/scripts/misreadings.json. The pages used so far are sentences out of the translations of Debian's
programs, drawn by Chromium: three pages in each of 22 languages, in several typefaces, and Latin ones so small and
blurred that they are misread.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from gateway.ocr.scripts.mixed import MODEL_FILE, counted
from gateway.ocr.server.engine import OcrEngine
from gateway.wire.ocr import FREE

RARE = 0.002
"""Characters that are rarer in every script are left out: they tell little, and the file stays small."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.train_scripts")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    engine = OcrEngine(1)
    shares: dict[str, dict[str, float]] = {}
    pages: Counter[str] = Counter()
    for path in sorted(options.folder.glob("*.json")):
        page = json.loads(path.read_text())
        for _ in engine.answer((options.folder / page["file"]).read_bytes(), FREE.prompt):
            pass
        lines = engine.report(details=True)["lines"]
        characters = Counter(counted(" ".join(line["text"] for line in lines)))
        if not characters:
            continue
        pages[page["script"]] += 1
        for character, count in characters.items():
            of_script = shares.setdefault(page["script"], {})
            of_script[character] = of_script.get(character, 0.0) + count / characters.total()
    model = {
        script: {c: round(share / pages[script], 4) for c, share in sorted(counts.items())}
        for script, counts in sorted(shares.items())
    }
    kept = {c for counts in model.values() for c, share in counts.items() if share >= RARE}
    model = {script: {c: share for c, share in counts.items() if c in kept} for script, counts in model.items()}
    MODEL_FILE.write_text(json.dumps(model, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
