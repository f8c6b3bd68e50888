"""Makes pages with known text by programs other than ours: `python -m bench.ocr_pages OUT`.

Chromium, LibreOffice and groff set texts of Debian's documentation; ImageMagick wears the pages as a scanner and a
phone do (tilt to 5 degrees, curl, shadow, blur, faint print, JPEG). Each page is a picture and a JSON file in the
format of shared data `ocr-real` (`category file text blocks code_lines table_cells`), with `how` (what was done to it),
`amounts` and, of clean prints, `words` with their boxes in pixels. The text of a printed page is that of its PDF in
the order in which its program wrote it. A third of each kind lies in OUT/closed, the rest in OUT/open.

Needs chromium, soffice, groff, pdftoppm, pdftotext, convert (ImageMagick), vim, and takes about ten minutes.
"""

# ruff: noqa: E501 - sentences, styles and commands of other programs

import argparse
import gzip
import html
import json
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DOCUMENTATION = Path("/usr/share/doc")
CONVERT = "/usr/bin/convert"
SANS, SERIF, MONO = (
    ("Liberation Sans", "Noto Sans"),
    ("Liberation Serif", "Nimbus Roman"),
    ("DejaVu Sans Mono", "Liberation Mono"),
)
AMOUNT = re.compile(r"(?<![\w.,])\d{1,3}(?:[,.]\d{3})*[.,]\d{2}(?![\w.,]*\d)")
WEAR: dict[str, tuple[str, ...]] = {
    "clean": (),
    "tilt1": ("-background", "white", "-rotate", "1.1"),
    "tilt2": ("-background", "white", "-rotate", "-2.2"),
    "tilt5": ("-background", "white", "-rotate", "4.8"),
    "scan": ("-background", "white", "-rotate", "0.6", "-colorspace", "Gray", "-blur", "0x0.7", "-attenuate", "0.25", "+noise", "Gaussian", "-quality", "60"),
    "phone": ("-bordercolor", "#5b4a3c", "-border", "60", "-background", "#5b4a3c", "-rotate", "1.7", "-wave", "9x3400", "-blur", "0x0.6", "-quality", "70"),
    "blur": ("-blur", "0x1.5"),
    "faint": ("+level", "52%,100%"),
    "jpeg": ("-quality", "22"),
}  # fmt: skip


class Maker:
    """Writes pages into the two parts of the set; `rng` decides what is on them."""

    def __init__(self, folder: Path) -> None:
        self.rng = random.Random()
        self.scratch = folder / "scratch"
        self.scratch.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._number: dict[str, int] = {}
        self._all_prose, self._all_sources = list(_paragraphs()), list(_sources())

    def begin(self, kind: str) -> None:
        """Texts in an order that the kind decides, so that one kind can be made anew without the others."""
        self.rng.seed(kind)
        prose, sources = list(self._all_prose), list(self._all_sources)
        self.rng.shuffle(prose)
        self.rng.shuffle(sources)
        self._prose, self._sources = iter(prose), iter(sources)

    def paragraphs(self, count: int) -> list[str]:
        return [next(self._prose) for _ in range(count)]

    def source(self) -> tuple[str, list[str]]:
        """The name of a source file, and 18 to 40 of its lines."""
        return next(self._sources)

    def keep(self, kind: str, picture: Path, text: str, how: str, **more: Any) -> None:
        """Wears a picture and writes it with its truth."""
        number = self._number[kind] = self._number.get(kind, -1) + 1
        part = self._folder / ("closed" if number % 3 == 1 else "open")
        part.mkdir(exist_ok=True)
        name = f"{kind}-{number:02}"
        file = f"{name}.{'jpg' if '-quality' in WEAR[how] else 'png'}"
        shadow = "( +clone -sparse-color Barycentric 0,0_white_%w,%h_#8a8a8a ) -compose Multiply -composite"
        shade = [word.replace("_", " ") for word in shadow.split()] if how == "phone" else []
        run(CONVERT, str(picture), *WEAR[how], *shade, str(part / file))
        truth = {"category": kind, "file": file, "how": how, "text": text, "amounts": AMOUNT.findall(text)}
        truth["blocks"] = [{"kind": "text", "text": block} for block in text.split("\n\n")]
        (part / f"{name}.json").write_text(json.dumps({**truth, **more}, ensure_ascii=False))

    def keep_pdf(self, kind: str, pdf: Path, hows: Iterator[str], dpi: int = 200, **more: Any) -> None:
        """Keeps all pages of a PDF, each with the text that it holds."""
        pages = int(re.search(r"Pages:\s+(\d+)", run("pdfinfo", str(pdf)))[1])  # type: ignore[index]
        for page in map(str, range(1, pages + 1)):
            picture = self.scratch / "page"
            run("pdftoppm", "-r", str(dpi), "-f", page, "-l", page, "-png", "-singlefile", str(pdf), str(picture))
            text = run("pdftotext", "-raw", "-f", page, "-l", page, str(pdf), "-").strip("\f\n ")
            if len(text) < 80:
                continue
            how, words = next(hows), []
            if how == "clean":
                boxes = run("pdftotext", "-bbox", "-f", page, "-l", page, str(pdf), "-")
                found = re.findall(
                    r'xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">(.*?)</word', boxes
                )
                words = [[html.unescape(w), *(float(v) * dpi / 72 for v in box)] for *box, w in found]
            self.keep(kind, picture.with_suffix(".png"), text, how, words=words, **more)

    # --- programs -------------------------------------------------------------------------------------------------

    def chromium_pdf(self, body: str, css: str) -> Path:
        page, pdf = self.scratch / "page.html", self.scratch / "page.pdf"
        page.write_text(_html(body, css))
        run(*CHROMIUM, "--no-pdf-header-footer", f"--print-to-pdf={pdf}", page.as_uri())
        return pdf

    def chromium_picture(self, body: str, css: str, size: tuple[int, int], *flags: str) -> Path:
        page, picture = self.scratch / "page.html", self.scratch / "shot.png"
        page.write_text(_html(body, css))
        window = f"--window-size={size[0]},{size[1]}"
        run(*CHROMIUM, "--hide-scrollbars", window, *flags, f"--screenshot={picture}", page.as_uri())
        return picture

    def office_pdf(self, text: str, suffix: str) -> Path:
        page = self.scratch / f"office.{suffix}"
        page.write_text(text)
        run("soffice", "--headless", "--convert-to", "pdf", "--outdir", str(self.scratch), str(page))
        return self.scratch / "office.pdf"

    def groff_pdf(self, text: str, *flags: str) -> Path:
        pdf = self.scratch / "groff.pdf"
        pdf.write_bytes(
            subprocess.run(
                ["groff", "-Tpdf", "-t", "-e", *flags], input=text.encode(), check=True, capture_output=True
            ).stdout
        )
        return pdf


CHROMIUM = ("chromium", "--headless", "--no-sandbox", "--disable-gpu")


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, timeout=120).stdout.decode(errors="replace")


def _html(body: str, css: str) -> str:
    return f"<!doctype html><meta charset=utf-8><style>body{{margin:0}}{css}</style>{body}"


def _texts(suffixes: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    for path in sorted(DOCUMENTATION.rglob("*")):
        name = path.name.removesuffix(".gz")
        if path.is_file() and not path.is_symlink() and name.endswith(suffixes) and path.stat().st_size < 300_000:
            data = path.read_bytes()
            yield path, (gzip.decompress(data) if path.suffix == ".gz" else data).decode(errors="replace")


def _paragraphs() -> Iterator[str]:
    """English prose of 35 to 90 words, each paragraph once."""
    seen: set[str] = set()
    for _, text in _texts(("README", "README.Debian", "NEWS", ".txt", ".md", ".rst", "copyright")):
        for block in re.split(r"\n\s*\n", text):
            words = block.split()
            flat = " ".join(words)
            is_prose = 35 <= len(words) <= 90 and re.fullmatch(r"[A-Z][\w ,;:()'’.%/\"+-]*\.", flat) and flat.isascii()
            if (
                is_prose
                and sum(w in {"the", "of", "to", "and", "is", "a", "in"} for w in words) >= 6
                and flat[:60] not in seen
            ):
                seen.add(flat[:60])
                yield flat


def _sources() -> Iterator[tuple[str, list[str]]]:
    for path, text in _texts((".c", ".pl", ".sh", ".py", ".h")):
        rows = [row.expandtabs(4).rstrip() for row in text.split("\n")]
        start = next(
            (i for i in range(25, len(rows) - 20) if rows[i] and not rows[i][0].isspace() and not rows[i - 1]), None
        )
        if start is not None and text.isascii():
            part = rows[start : start + 34]
            if max(map(len, part)) <= 96 and sum(map(bool, part)) >= 16:
                yield path.name.removesuffix(".gz"), part


def cycle(*hows: str) -> Iterator[str]:
    while True:
        yield from hows


# --- kinds ------------------------------------------------------------------------------------------------------------


def columns(maker: Maker) -> None:
    """Journals in two columns: a headline and an abstract over both, footnotes, page numbers, hyphens."""
    hows = cycle("scan", "tilt1", "clean", "phone", "tilt2", "scan", "jpeg", "faint", "blur", "tilt5", "scan")
    for size, gutter in ((9, "0.9c"), (10, "0.5c"), (11, "0.4c"), (10, "0.3c")):
        text = f".nr PS {size}\n.nr VS {size + 2}\n.nr GW {gutter}\n.nr MINGW {gutter}\n.nr LL 17c\n.nr PO 2c\n.TL\n{_title(maker)}\n.AU\nA. N. Other\n.AI\nDebian Project\n.AB\n{maker.paragraphs(1)[0]}\n.AE\n.2C\n"
        for number in range(44):
            text += f".NH 1\n{_title(maker)}\n" if number % 4 == 0 else ""
            text += f".PP\n{maker.paragraphs(1)[0]}\n"
            text += f".FS\n{number}. {maker.paragraphs(1)[0].split('.')[0]}.\n.FE\n" if number % 5 == 2 else ""
        maker.keep_pdf("columns", maker.groff_pdf(text, "-ms"), hows)
    for size, font in ((11, SERIF[0]), (12, SANS[0]), (12, SERIF[1]), (13, SANS[1])):
        body = (
            f"<h1>{_title(maker)}</h1><p class=i>{maker.paragraphs(1)[0]}</p><div>"
            + "".join(f"<p>{p}</p>" for p in maker.paragraphs(9))
            + "</div>"
        )
        css = f"@page{{margin:20mm 18mm}}body{{font:{size}px/1.35 '{font}'}}div{{columns:2;column-gap:{size * 1.6}px;text-align:justify;hyphens:auto}}"
        maker.keep_pdf("columns", maker.chromium_pdf(body, css), hows)
    for _ in range(4):
        rows = "".join(f"<text:p>{html.escape(p)}</text:p>" for p in maker.paragraphs(9))
        head = f"<text:h text:outline-level='1'>{_title(maker)}</text:h>"
        maker.keep_pdf("columns", maker.office_pdf(FODT.format(head=head, rows=rows), "fodt"), hows)


FODT = """<?xml version="1.0" encoding="UTF-8"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.text"><office:automatic-styles><style:style style:name="two" style:family="section"><style:section-properties><style:columns fo:column-count="2" fo:column-gap="0.6cm"><style:column style:rel-width="1*" fo:start-indent="0cm" fo:end-indent="0.3cm"/><style:column style:rel-width="1*" fo:start-indent="0.3cm" fo:end-indent="0cm"/></style:columns></style:section-properties></style:style></office:automatic-styles><office:body><office:text>{head}<text:section text:style-name="two" text:name="s">{rows}</text:section></office:text></office:body></office:document>"""


def _title(maker: Maker) -> str:
    return " ".join(maker.paragraphs(1)[0].split()[:5]).strip(",.;:").capitalize()


def prints(maker: Maker) -> None:
    """Pages of one column, as printed, and as they come from a scanner or a phone."""
    worn = "clean clean clean scan clean phone clean clean tilt2 clean faint clean blur jpeg"
    hows = cycle(*worn.split())
    for number, font in enumerate((*SANS, *SERIF, *SANS)):
        body = f"<h1>{_title(maker)}</h1>" + "".join(
            f"<h2>{_title(maker)}</h2><p>{'</p><p>'.join(maker.paragraphs(2))}</p>" for _ in range(4)
        )
        pdf = maker.chromium_pdf(body, f"@page{{margin:22mm}}body{{font:{13 + number}px/1.4 '{font}'}}")
        maker.keep_pdf("print", pdf, hows, dpi=(150, 200, 240)[number % 3])
        maker.keep_pdf("print", maker.office_pdf(_html(body, f"body{{font:12pt '{font}'}}"), "html"), hows)
    for page in ("tar.1", "grep.1", "ssh.1"):
        path = Path(f"/usr/share/man/man1/{page}.gz")
        if path.is_file():
            text = ".\n".join(gzip.decompress(path.read_bytes()).decode().split("\n.\n")[:400])
            maker.keep_pdf("print", maker.groff_pdf("\n".join(text.split("\n")[:160]), "-mandoc"), hows)


GOODS = [
    "Copy paper", "Fountain pen", "Ring binder", "Delivery", "Desk lamp", "Oat milk 1 l", "Rye bread", "Toner XL",
    "USB cable 2 m", "Stamps", "Coffee beans", "Soap", "Battery AA x4", "Notebook A5", "Blue ink", "Envelope C5",
]  # fmt: skip


def _money(value: int, style: int) -> str:
    whole, cents = divmod(value, 100)
    return f"{whole:,}.{cents:02}" if style % 3 else f"{whole:,}".replace(",", ".") + f",{cents:02}"


def _items(maker: Maker, count: int, top: int) -> list[tuple[str, int, int]]:
    return [(name, maker.rng.randint(1, 12), maker.rng.randint(5, top)) for name in maker.rng.sample(GOODS, count)]


def receipts(maker: Maker) -> None:
    hows = cycle("clean", "tilt2", "phone", "tilt1", "faint", "tilt5", "scan", "tilt2", "blur", "phone")
    for number in range(30):
        font = (*MONO, *SANS)[number % 4]
        items = _items(maker, maker.rng.randint(4, 9), 4_000)
        total = sum(n * p for _, n, p in items)
        rows = [(f"{n} x {name}", _money(n * p, number)) for name, n, p in items]
        tail = [
            ("SUBTOTAL", _money(total, number)),
            ("VAT 19 %", _money(total * 19 // 100, number)),
            ("TOTAL EUR", _money(total + total * 19 // 100, number)),
        ]
        head = [
            _title(maker),
            f"{maker.rng.randint(1, 200)} Harbour Street",
            f"Tel. 0{maker.rng.randint(10, 99)} {maker.rng.randint(1000000, 9999999)}",
            f"{maker.rng.randint(10, 28)}/0{maker.rng.randint(1, 9)}/2026 {maker.rng.randint(10, 23)}:{maker.rng.randint(10, 59)}",
        ]
        body = (
            "".join(f"<center>{line}</center>" for line in head)
            + "<hr><table width=100%>"
            + "".join(f"<tr><td>{a}<td align=right>{b}" for a, b in rows)
            + "</table><hr><table width=100%>"
            + "".join(f"<tr><td>{a}<td align=right>{b}" for a, b in tail)
            + "</table><center>Thank you for your visit</center>"
        )
        picture = maker.chromium_picture(
            body,
            f"body{{font:{14 + number % 4}px/1.3 '{font}';padding:24px;width:{330 + 20 * (number % 3)}px}}table{{font:inherit}}",
            (440, 330 + 24 * len(rows)),
            "--force-device-scale-factor=2",
        )
        text = "\n".join([*head, *(f"{a} {b}" for a, b in [*rows, *tail]), "Thank you for your visit"])
        maker.keep("receipt", picture, text, next(hows))


def invoices(maker: Maker) -> None:
    hows = cycle("clean", "tilt2", "scan", "phone", "tilt1", "faint", "tilt5", "jpeg")
    for number in range(18):
        items = _items(maker, maker.rng.randint(4, 9), 90_000)
        rules = ("border:1px solid #333", "border-bottom:1px solid #aaa", "")[number % 3]
        rows = [
            ["Article", "Quantity", "Price", "Amount"],
            *([name, str(n), _money(p, number), _money(n * p, number)] for name, n, p in items),
        ]
        body = (
            f"<h1>Invoice {maker.rng.randint(1000, 9999)}</h1><p>{maker.paragraphs(1)[0]}</p><table width=100%>"
            + _rows(rows)
            + f"</table><p>Total due: <b>{_money(sum(n * p for _, n, p in items), number)} EUR</b></p><p>{maker.paragraphs(1)[0]}</p>"
        )
        css = f"@page{{margin:22mm}}body{{font:14px/1.4 '{(SANS + SERIF)[number % 4]}'}}table{{border-collapse:collapse}}td,th{{{rules};padding:3px 8px;text-align:left}}td+td,th+th{{text-align:right}}"
        pdf = maker.chromium_pdf(body, css) if number % 2 else maker.office_pdf(_html(body, css), "html")
        maker.keep_pdf("invoice", pdf, hows, table_cells=[_cells(rows)])


def _rows(rows: list[list[str]]) -> str:
    return "".join(
        "<tr>" + "".join(f"<{'td' if i else 'th'}>{html.escape(c)}" for c in row) for i, row in enumerate(rows)
    )


def _cells(rows: list[list[str]]) -> list[tuple[int, int, int, int, str]]:
    return [(r, c, 1, 1, text) for r, row in enumerate(rows) for c, text in enumerate(row)]


def tables(maker: Maker) -> None:
    """Ruled tables with an empty head cell, other empty cells, and heads over two columns."""
    hows = cycle("clean", "scan", "clean", "tilt2", "clean", "jpeg")
    for number in range(18):
        names = maker.rng.sample(GOODS, 6)
        rows = [
            ["", "2024", "2025", "2026"],
            *(
                [
                    name,
                    *("" if maker.rng.random() < 0.2 else _money(maker.rng.randint(100, 999999), 1) for _ in range(3)),
                ]
                for name in names
            ),
        ]
        over = "<tr><th><th colspan=2>Measured<th>Planned" if number % 2 else ""
        css = f"@page{{margin:22mm}}body{{font:14px/1.4 '{(SANS + SERIF)[number % 4]}'}}table{{border-collapse:collapse}}td,th{{border:1px solid #444;padding:4px 10px;text-align:{('left', 'right')[number % 2]}}}"
        body = f"<h2>{_title(maker)}</h2><p>{maker.paragraphs(1)[0]}</p><table>{over}{_rows(rows)}</table><p>{maker.paragraphs(1)[0]}</p>"
        pdf = (
            maker.chromium_pdf(body, css)
            if number % 3
            else maker.office_pdf(_html(body.replace("<table>", "<table border=1>"), css), "html")
        )
        maker.keep_pdf(
            "table",
            pdf,
            hows,
            table_cells=[[*([(-1, 1, 1, 2, "Measured"), (-1, 3, 1, 1, "Planned")] if over else []), *_cells(rows)]],
        )


VIM = "vim -e -s -n -u NONE -c 'set bg={ground} termguicolors nocp' -c 'syntax on' -c 'colorscheme {scheme}' -c 'runtime syntax/2html.vim' -c 'w! {out}' -c 'qa!' {source}"


def code(maker: Maker) -> None:
    """Source text as vim exports it, on light and dark grounds."""
    hows = cycle("clean", "clean", "jpeg", "clean", "clean")
    for number in range(24):
        name, rows = maker.source()
        source, out = maker.scratch / name, maker.scratch / "vim.html"
        source.write_text("\n".join(rows))
        ground = ("dark", "light")[number % 2]
        scheme = (("desert", "slate", "elflord"), ("default", "morning", "peachpuff"))[number % 2][number // 2 % 3]
        run("sh", "-c", VIM.format(ground=ground, scheme=scheme, out=out, source=source))
        text = re.sub(r"font-size: 1em;|font-family:[^;]*;", "", out.read_text(errors="replace"))
        font, size = MONO[number // 2 % 2], 13 + number % 5
        text = text.replace(
            "</style>", f"pre,*{{font-family:'{font}'!important;font-size:{size}px!important;line-height:1.35}}</style>"
        )
        picture = maker.scratch / "shot.png"
        out.write_text(text)
        run(
            *CHROMIUM,
            "--hide-scrollbars",
            f"--window-size={int(size * 0.62 * max(map(len, rows))) + 40},{int(size * 1.36 * len(rows)) + 30}",
            f"--force-device-scale-factor={(1, 1.5)[number % 3 == 1]}",
            f"--screenshot={picture}",
            out.as_uri(),
        )
        maker.keep(f"{ground}_code", picture, "\n".join(rows), next(hows), code_lines=rows)


COMMANDS = ("ls -l /usr/share/doc | tail -n +{n} | head -22", "dpkg -l | tail -n +{n} | head -18 | cut -c1-92", "df -h", "apt-cache policy bash grep | head -20", "sha256sum /usr/share/doc/bash/* 2>/dev/null | head -8", "cat /proc/meminfo | head -24", "ip addr 2>/dev/null || cat /proc/net/dev | cut -c1-90", "ls -lR /usr/share/doc/perl* | head -26")  # fmt: skip
GROUNDS = (
    ("#1e1e1e", "#d4d4d4"), ("#300a24", "#ffffff"), ("#002b36", "#93a1a1"), ("#000000", "#00ff66"),
    ("#ffffff", "#222222"),
)  # fmt: skip


def terminals(maker: Maker) -> None:
    hows = cycle("clean", "clean", "jpeg", "clean", "clean")
    for number in range(14):
        command = COMMANDS[number % len(COMMANDS)].format(n=20 + 31 * number)
        text = run("sh", "-c", command) if number % 5 != 4 else _pods(maker)
        rows = [
            f"admin@node{number}:~$ {command}",
            *(row.expandtabs(8).rstrip() for row in text.split("\n")[:26] if row.strip()),
        ]
        ground, ink = GROUNDS[number % len(GROUNDS)]
        size = 13 + number % 4
        body, css = (
            f"<pre>{html.escape(chr(10).join(rows))}</pre>",
            f"body{{background:{ground};color:{ink};padding:14px}}pre{{margin:0;font:{size}px/1.3 '{MONO[number % 2]}'}}",
        )
        picture = maker.chromium_picture(
            body, css, (int(size * 0.61 * max(map(len, rows))) + 60, int(size * 1.3 * len(rows)) + 40)
        )
        maker.keep("terminal", picture, "\n".join(rows), next(hows), code_lines=rows)


def _pods(maker: Maker) -> str:
    states = ("Running", "CrashLoopBackOff", "ERROR", "Completed", "ImagePullBackOff", "OOMKilled")
    names = [
        f"api-{maker.rng.getrandbits(32):x}-{maker.rng.choice('bl0o1')}{maker.rng.randint(0, 99):02}" for _ in range(12)
    ]
    return "NAME                READY   STATUS             RESTARTS   AGE\n" + "\n".join(
        f"{name:20}{maker.rng.randint(0, 1)}/1     {maker.rng.choice(states):19}{maker.rng.randint(0, 200):<11}{maker.rng.randint(1, 90)}d"
        for name in names
    )


FORMULAS = (
    "Planck's constant is 6.626 × 10⁻³⁴ J s", "E = mc²", "The rate fell to 10⁻³ per second", "a² + b² = c²",
    "H₂O and CO₂ at 25 °C", "x₁ + x₂ ≤ 10⁶", "1 m³ of air weighs 1.2 kg", "10⁻⁹ m is one nanometre",
    "Fₙ = Fₙ₋₁ + Fₙ₋₂",
)  # fmt: skip
HTML_MARKS = str.maketrans(
    {c: f"<sup>{d}</sup>" for c, d in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789−", strict=True)}
    | {c: f"<sub>{d}</sub>" for c, d in zip("₀₁₂₃ₙ₋", "0123n−", strict=True)}
)


def people(maker: Maker) -> None:
    """Superscripts, tick boxes, transparent pictures, slides: kinds that people named."""
    for number in range(9):
        lines = maker.rng.sample(FORMULAS, 4)
        words = maker.paragraphs(1)[0]
        body = f"<p>{words}</p>" + "".join(f"<p>{line.translate(HTML_MARKS)}</p>" for line in lines)
        picture = maker.chromium_picture(
            body,
            f"body{{font:{17 + number}px/1.5 '{(SANS + SERIF)[number % 4]}';padding:30px}}sup,sub{{line-height:0}}",
            (900, 560),
        )
        maker.keep("formula", picture, "\n\n".join([words, *lines]), "clean", formulas=lines)
    for number in range(9):
        names = [(name, maker.rng.random() < 0.5) for name in maker.rng.sample(GOODS, 6)]
        kind = ("checkbox", "radio")[number % 2]
        body = f"<h2>{_title(maker)}</h2>" + "".join(
            f"<p><input type={kind} name=n{i} {'checked' * on}> {name}</p>" for i, (name, on) in enumerate(names)
        )
        picture = maker.chromium_picture(
            body,
            f"body{{font:17px '{SANS[number % 2]}';padding:30px}}input{{width:17px;height:17px}}",
            (520, 400),
            "--force-device-scale-factor=1.5",
        )
        maker.keep("form", picture, "\n".join(name for name, _ in names), "clean", ticks=names)
    for number in range(9):
        texts, title = maker.paragraphs(2), _title(maker)
        ink = ("#fff", "#111", "#ffd54a")[number % 3]
        picture = maker.chromium_picture(
            f"<h1>{title}</h1><p>{texts[0]}</p><p>{texts[1]}</p>",
            f"body{{background:transparent;color:{ink};font:19px/1.45 '{SANS[number % 2]}';padding:40px}}",
            (860, 420),
            "--default-background-color=00000000",
        )
        maker.keep("alpha", picture, "\n\n".join([title, *texts]), "clean")
    hows = cycle("clean", "jpeg", "clean", "phone")
    for number in range(9):
        points = [p.split(".")[0][:110] for p in maker.paragraphs(5)]
        title = _title(maker)
        ground, ink = (("#fff", "#223"), ("#14213d", "#f5f5f5"), ("#f3efe0", "#332"))[number % 3]
        picture = maker.chromium_picture(
            f"<h1>{title}</h1><ul><li>{'<li>'.join(points)}</ul>",
            f"body{{background:{ground};color:{ink};font:27px/1.4 '{SANS[number % 2]}';padding:40px 70px}}",
            (1280, 720),
        )
        maker.keep("slide", picture, "\n\n".join([title, *points]), next(hows))


KINDS: tuple[Callable[[Maker], None], ...] = (columns, prints, receipts, invoices, tables, code, terminals, people)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ocr_pages", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="kinds: " + " ".join(kind.__name__ for kind in KINDS))
    options = parser.parse_args()
    maker = Maker(options.folder)
    for kind in KINDS:
        if options.only and kind.__name__ not in options.only.split(","):
            continue
        maker.begin(kind.__name__)
        kind(maker)
        print(kind.__name__, maker._number, flush=True)


if __name__ == "__main__":
    main()
