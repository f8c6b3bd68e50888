"""Quality and speed of the embedded OCR engine: `python -m bench.ocr [--data DIR] [--quick]`.

Rendered pages (known words, blocks and cells) and, where `--data` holds a `receipts` folder (ICDAR 2019 SROIE), real
receipts. CER and word F1 ignore case on receipts alone, as their labels do.
"""

import argparse
import math
import os
import re
import resource
import time
from collections import Counter
from itertools import product
from pathlib import Path
from statistics import mean

import numpy
from PIL import Image

from gateway.geometry.boxes import Rect
from gateway.geometry.reading_order import rows_of
from gateway.ocr.server.engine import OcrEngine
from gateway.wire.ocr import FREE, LOCATE, MARKDOWN, build_prompt, parse_blocks
from tests.support.ocr_pages import Sheet, degrade, dense, letter, png, report, two_columns

DEGRADATIONS = ("clean", "noise", "blur", "jpeg", "low", "inverted", "shaded", "skew", "rot90", "rot180", "rot270")


def distance(one: str, other: str) -> int:
    """Levenshtein distance, a row at a time."""
    letters = numpy.array([ord(c) for c in other])
    index = numpy.arange(len(other) + 1)
    previous = index.copy()
    for number, c in enumerate(one, 1):
        row = numpy.empty_like(previous)
        row[0] = number
        if len(other):
            numpy.minimum(previous[1:] + 1, previous[:-1] + (letters != ord(c)), out=row[1:])
        previous = numpy.minimum.accumulate(row - index) + index
    return int(previous[-1])


def flat(text: str) -> str:
    """Text without Markdown's pipes and rules, white space folded."""
    text = re.sub(r"^\|[ |:-]+\|$", " ", text, flags=re.MULTILINE).replace("|", " ")
    return re.sub(r"\s+", " ", text).strip()


def cer(got: str, want: str) -> float:
    return distance(flat(got), flat(want)) / max(1, len(flat(want)))


def word_f1(got: str, want: str) -> float:
    a, b = (Counter(re.findall(r"\w+", text.lower())) for text in (got, want))
    return 2 * sum((a & b).values()) / max(1, sum(a.values()) + sum(b.values()))


def iou(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    a, b = Rect(*one), Rect(*other)
    shared = a.overlap(b)
    return shared / (a.area + b.area - shared) if shared else 0.0


def pixels_of(box: tuple[int, ...], sheet: Sheet) -> tuple[float, ...]:
    width, height = sheet.image.size
    return tuple(v * (width, height, width, height)[i] / 999 for i, v in enumerate(box))


def ask(engine: OcrEngine, data: bytes, prompt: str) -> str:
    return "".join(engine.answer(data, prompt))


def free_text(engine: OcrEngine) -> None:
    for how in DEGRADATIONS:
        sheet = letter(1, 24, "Sans")
        image = sheet.image if how == "clean" else degrade(sheet.image, how)
        got = ask(engine, png(image), FREE.prompt)
        print(f"free, letter {how:9} CER {cer(got, ' '.join(sheet.truth.lines)):.4f}")
    for style, size in (("Serif", 20), ("SansMono", 16), ("Serif-Italic", 20), ("Sans", 14)):
        sheet = letter(2, size, style)
        got = ask(engine, png(sheet.image), FREE.prompt)
        print(f"free, letter {style} {size:3} CER {cer(got, ' '.join(sheet.truth.lines)):.4f}")
    for seed in (1, 2, 3):
        sheet = two_columns(seed)
        got = ask(engine, png(sheet.image), FREE.prompt)
        print(f"free, two columns {seed}  CER {cer(got, ' '.join(sheet.truth.lines)):.4f}")
    for seed, rules in ((1, "all"), (2, "rows"), (3, "none")):
        sheet = report(seed, rules=rules)
        got = ask(engine, png(sheet.image), FREE.prompt)
        print(f"free, report {rules:5}    CER {cer(got, ' '.join(sheet.truth.lines)):.4f}")


def ink_of(sheet: Sheet, box: tuple[float, ...]) -> tuple[float, ...]:
    """The drawn letters inside a word's box, which also has the room before and after them."""
    left, top, right, bottom = int(box[0]), int(box[1]), math.ceil(box[2]), math.ceil(box[3])
    dark = numpy.asarray(sheet.image.convert("L").crop((left, top, right, bottom))) < 128
    xs, ys = numpy.flatnonzero(dark.any(axis=0)), numpy.flatnonzero(dark.any(axis=1))
    return left + int(xs[0]), top + int(ys[0]), left + int(xs[-1]) + 1, top + int(ys[-1]) + 1


def locate(engine: OcrEngine) -> None:
    """IoU with the ink of words; `exact`: what the ink's own box reaches, rounded to thousandths of the page."""
    ious, exact = [], []
    for sheet in (report(5), two_columns(5), letter(5, 16)):
        counts = Counter(re.sub(r"\W", "", word).lower() for word, _ in sheet.truth.words)
        once = [(w, b) for w, b in sheet.truth.words if counts[re.sub(r"\W", "", w).lower()] == 1 and len(w) > 2]
        data, size = png(sheet.image), sheet.image.size * 2
        for word, around in once[:: max(1, len(once) // 4)]:
            box = ink_of(sheet, around)
            answer = parse_blocks(ask(engine, data, build_prompt(LOCATE, text=word)))
            ious.append(max((iou(pixels_of(b, sheet), box) for block in answer for b in block.boxes), default=0.0))
            rounded = tuple(round(side * 999 / whole) for side, whole in zip(box, size, strict=True))
            exact.append(iou(pixels_of(rounded, sheet), box))
    found = mean(value >= 0.5 for value in ious)
    print(f"locate: {len(ious)} words, found {found:.3f}, mean IoU {mean(ious):.3f}, worst {min(ious):.2f}; ", end="")
    print(f"exact boxes in thousandths {mean(exact):.3f}")


def blocks(engine: OcrEngine) -> None:
    right, total, cells_right, cells_total = 0, 0, 0, 0
    sheets = [report(seed, rules=rules) for seed in (11, 12) for rules in ("all", "rows", "none")]
    for sheet in [*sheets, two_columns(11), two_columns(12)]:
        answer = parse_blocks(ask(engine, png(sheet.image), MARKDOWN.prompt))
        missed = []
        for label, box in sheet.truth.blocks:
            hits = [iou(pixels_of(b.boxes[0], sheet), box) for b in answer if b.label == label]
            right += max(hits, default=0) >= 0.5
            total += 1
            if max(hits, default=0) < 0.5:
                missed.append((label, [round(v) for v in box]))
        for table in sheet.truth.tables:
            want = [cell for row in table for cell in row]
            made = [table_cells(block.content) for block in answer if block.label == "table"]
            best = max((cell_score(rows, table) for rows in made), default=0)
            cells_right += best
            cells_total += len(want)
        if missed:
            print("   missed", missed)
    print(f"blocks at IoU .5 with the right label: {right}/{total} = {right / total:.3f}")
    print(f"table cells right: {cells_right}/{cells_total} = {cells_right / cells_total:.3f}")


def table_cells(content: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", content)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


def cell_score(made: list[list[str]], want: list[list[str]]) -> int:
    return sum(
        cell == made[r][c]
        for r, row in enumerate(want)
        for c, cell in enumerate(row)
        if r < len(made) and c < len(made[r])
    )


def receipts(engine: OcrEngine, folder: Path) -> None:
    rates, scores, seconds = [], [], []
    for path in sorted(folder.glob("*.jpg")):
        rects, texts = labels(path.with_suffix(".csv"))
        want = " ".join(texts[i] for row in rows_of(rects, range(len(rects))) for i in row)
        begun = time.perf_counter()
        got = ask(engine, path.read_bytes(), FREE.prompt)
        seconds.append(time.perf_counter() - begun)
        rates.append(cer(got.upper(), want.upper()))
        scores.append(word_f1(got, want))
    worst = max(rates)
    print(f"receipts: CER {mean(rates):.4f} (worst {worst:.3f}), F1 {mean(scores):.3f}, {mean(seconds):.2f} s each")


def labels(path: Path) -> tuple[list[Rect], list[str]]:
    rects, texts = [], []
    for row in path.read_text(encoding="utf-8", errors="replace").splitlines():
        parts = row.split(",", 8)
        if len(parts) == 9:
            xs, ys = [float(v) for v in parts[0:8:2]], [float(v) for v in parts[1:8:2]]
            rects.append(Rect(min(xs), min(ys), max(xs), max(ys)))
            texts.append(parts[8])
    return rects, texts


def speed(engine: OcrEngine) -> None:
    for scale in (0.7, 1.0, 1.18, 2.04):
        sheet = report(21, scale)
        data = png(sheet.image)
        begun, cpu = time.perf_counter(), time.process_time()
        ask(engine, data, MARKDOWN.prompt)
        wall, used = time.perf_counter() - begun, time.process_time() - cpu
        width, height = sheet.image.size
        print(f"speed {width} x {height} ({width * height / 1e6:.1f} Mpx): {wall:.2f} s, CPU {used:.2f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of this process {peak:.0f} MB, load average {os.getloadavg()[0]:.1f}")


DENSE = (
    (1.0, 26, "Serif", 1),
    (1.0, 24, "Sans", 1),
    (1.0, 22, "Sans", 1),
    (1.0, 20, "Serif", 1),
    (1.0, 18, "SansCondensed", 1),
    (1.333, 32, "Sans", 1),
    (1.333, 26, "Serif-Italic", 1),
    (1.0, 20, "Serif", 2),
    (1.333, 24, "SansMono", 2),
    (2.04, 44, "Sans", 1),
    (2.04, 34, "Serif", 1),
)
"""Scale of the page, size of the letters, their style, columns."""
DENSE_WORN = ("jpeg", "noise", "blur")


def dense_pages(engine: OcrEngine) -> None:
    """Pages full of text, with names, figures and addresses among the words."""
    print("dense page                                   chars  Mpx  mode      CER     wall s  CPU s")
    for seed, (scale, size, style, columns) in enumerate(DENSE):
        sheet = dense(seed, scale, size, style, columns)
        show_dense(engine, sheet, sheet.image, f"{style} {size}, {columns} column{'s' * (columns > 1)}")
    for size, how in product((22, 16), DENSE_WORN):
        sheet = dense(20, 1.0, size, "Serif")
        show_dense(engine, sheet, degrade(sheet.image, how), f"Serif {size}, {how}")


def show_dense(engine: OcrEngine, sheet: Sheet, image: Image.Image, name: str) -> None:
    want, data = " ".join(sheet.truth.lines), png(image)
    for mode in (FREE, MARKDOWN):
        begun, cpu = time.perf_counter(), time.process_time()
        got = ask(engine, data, mode.prompt)
        wall, used = time.perf_counter() - begun, time.process_time() - cpu
        if mode is MARKDOWN:
            got = " ".join(re.sub(r"^#+ ", "", block.content) for block in parse_blocks(got))
        size = image.width * image.height / 1e6
        print(f"{name:44} {len(want):5}  {size:.1f}  {mode.name:8} {cer(got, want):.4f}  {wall:6.2f} {used:6.2f}")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DATA_DIR", "../shared/data")))
    parser.add_argument("--only", default="", help="free, locate, blocks, dense, speed or receipts")
    options = parser.parse_args(argv)
    engine = OcrEngine(os.cpu_count() or 1)
    engine.load()
    parts = {"free": free_text, "locate": locate, "blocks": blocks, "dense": dense_pages, "speed": speed}
    for name, part in parts.items():
        if options.only in ("", name):
            part(engine)
    folder = options.data / "receipts"
    if options.only in ("", "receipts"):
        if folder.is_dir():
            receipts(engine, folder)
        else:
            print(f"receipts: skipped, no folder {folder}")
    engine.close()


if __name__ == "__main__":
    main()
