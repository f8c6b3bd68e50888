"""Which scripts Tesseract's language data reads, which of it is installed, and what to install where it is missing.

Sources: Debian 12's packages `tesseract-ocr-*` and Tesseract's list of languages, read 2026-11-22. Knows no pixels.
"""

import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

DATA_FOLDERS = ("/usr/share/tesseract-ocr", "/usr/share/tessdata", "/usr/share/tesseract", "/usr/local/share/tessdata")
"""Where distributions keep the data: Debian below a folder of its version, Fedora and Arch directly."""
KOREAN = "Korean"
VIETNAMESE = "Vietnamese"
"""Latin letters of which the first reader knows few: it leaves the others out."""


@dataclass(frozen=True, slots=True)
class Script:
    """`name` for callers, `unicode_name` the first word of its letters' Unicode names, `languages` the codes of the
    data that reads it, the one to recommend first."""

    name: str
    unicode_name: str
    languages: tuple[str, ...]

    @property
    def package(self) -> str:
        """The Debian package with the data to recommend."""
        return f"tesseract-ocr-{self.languages[0].replace('_', '-')}"


class Pack(NamedTuple):
    """Installed language data: its script and the code of its language."""

    script: Script
    language: str


SCRIPTS = (
    Script("Cyrillic", "CYRILLIC", ("rus", "ukr", "bul", "bel", "srp", "mkd", "kaz", "kir", "mon", "tat", "tgk")),
    Script("Greek", "GREEK", ("ell", "grc")),
    Script(KOREAN, "HANGUL", ("kor",)),
    Script("Arabic", "ARABIC", ("ara", "fas", "urd", "pus", "uig", "snd")),
    Script("Hebrew", "HEBREW", ("heb", "yid")),
    Script("Thai", "THAI", ("tha",)),
    Script("Devanagari", "DEVANAGARI", ("hin", "mar", "nep", "san")),
    Script(VIETNAMESE, "LATIN", ("vie",)),
    Script("Armenian", "ARMENIAN", ("hye",)),
    Script("Georgian", "GEORGIAN", ("kat",)),
    Script("Bengali", "BENGALI", ("ben", "asm")),
    Script("Tamil", "TAMIL", ("tam",)),
    Script("Telugu", "TELUGU", ("tel",)),
    Script("Kannada", "KANNADA", ("kan",)),
    Script("Malayalam", "MALAYALAM", ("mal",)),
    Script("Gujarati", "GUJARATI", ("guj",)),
    Script("Gurmukhi", "GURMUKHI", ("pan",)),
    Script("Sinhala", "SINHALA", ("sin",)),
    Script("Khmer", "KHMER", ("khm",)),
    Script("Lao", "LAO", ("lao",)),
    Script("Burmese", "MYANMAR", ("mya",)),
    Script("Ethiopic", "ETHIOPIC", ("amh", "tir")),
    Script("Tibetan", "TIBETAN", ("bod", "dzo")),
)
"""The scripts that the first reader does not know, those with the most readers first."""
BY_NAME = {script.name: script for script in SCRIPTS}


def data_folder(folders: tuple[str, ...] = DATA_FOLDERS) -> Path | None:
    """The folder with the most language data; None where there is none."""
    found = {path.parent for folder in folders for path in Path(folder).glob("**/*.traineddata") if path.is_file()}
    return max(found, key=lambda folder: (len(installed(folder)), str(folder)), default=None)


def installed(folder: Path) -> list[str]:
    """The codes of the language data in a folder."""
    return sorted(path.stem for path in folder.glob("*.traineddata"))


def share_in(text: str, script: Script) -> float:
    """The share of a text's letters that are of a script, 0..1; marks count as letters."""
    names = [unicodedata.name(c, "").split(" ", 1)[0] for c in text if unicodedata.category(c)[0] in "LM"]
    return sum(name == script.unicode_name for name in names) / len(names) if names else 0.0
