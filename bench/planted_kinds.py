"""How many secrets the sanitizer finds by the kinds of text that hold them: `python -m bench.planted_kinds`.

`bench/data/planted.jsonl` has a row for each kind of command, record, header, configuration, program, address and prose
in which people paste secrets: `{kind, value, text, likely}`. `value` describes how the secret is drawn anew
(`{alnum:24}`: 24 random letters and digits), `{}` in `text` is its place. `likely`: nothing proves it, so that answers
only flag it. Rules were made by the `tuning` half of the kinds; the `held` half, chosen by a digest of the kind's name,
measures them. `bench/data/harmless.jsonl` has texts of the same shapes without a secret (`{kind, text}`).
`--half` names one half, `--seed` draws other values, `--list` prints what is not masked in answers.
"""

import argparse
import base64
import hashlib
import json
import re
import string
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from bench.masks import Masks, covered
from bench.planted import Draw
from gateway.sanitize.text import GRADED

_ROWS = Path(__file__).parent / "data" / "planted.jsonl"
_HARMLESS = _ROWS.with_name("harmless.jsonl")
_DRAWN = re.compile(
    r"\{(?:([A-Za-z0-9]+):(\d+|[A-Z][A-Za-z0-9 ]+)|(password|human|plain|b64pw|b64login|b64docker|uuid|bcrypt))\}"
)
_ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "crypt": "./" + string.digits + string.ascii_letters,
    "base32": string.ascii_uppercase + "234567",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "django": string.ascii_lowercase + string.digits + "!@#$%^&*(-_=+)",
    "letters": string.ascii_letters,
    "bechl": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
    "base58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "base32l": string.ascii_lowercase + "234567",
    "wp": string.ascii_letters + string.digits + "!@#$%^&*()-_ []{}<>~`+=,.;:/?|",
}
_WORDS = (
    "abandon ability acid anchor arrow autumn badge bamboo barrel beauty bicycle blanket bonus bridge bubble "
    "cactus candy canvas castle cereal chimney circle clutch cobalt copper cradle cricket crystal custom dagger "
    "daring decade derive dolphin donkey dragon drift eagle effort elbow ember enact engine erosion escape fabric "
    "falcon fiscal flavor fossil galaxy garlic gesture ginger glide grocery guitar hamster harbor hazard hockey "
    "humble income insect island jaguar jungle kangaroo kidney ladder lagoon lecture lizard magnet mango "
)
"""Some words of the English list of BIP 39."""
_AROUND = "The service was moved to the new host last week, and the notes below were kept.\n\n"
_AFTER = "\n\nAfter that it was restarted, and nothing else was changed on the machine.\n"


class Kind(NamedTuple):
    name: str
    value: str
    text: str
    is_likely: bool

    @property
    def half(self) -> str:
        return "held" if hashlib.sha256(self.name.encode()).digest()[0] & 1 else "tuning"


def kinds() -> list[Kind]:
    rows = [json.loads(line) for line in _ROWS.read_text("utf-8").splitlines()]
    return [Kind(row["kind"], row["value"], row["text"], row.get("likely", False)) for row in rows]


def drawn(draw: Draw, form: str) -> str:
    """The value that a form describes, drawn anew."""
    return _DRAWN.sub(lambda part: _part(draw, part[1] or part[3], part[2] or ""), form)


def _part(draw: Draw, name: str, argument: str) -> str:
    if name == "pem":
        return draw.pem(argument, 300)
    if name == "human":
        return _human(draw)
    if name == "uuid":
        key = draw.text(32, "0123456789abcdef")
        return f"{key[:8]}-{key[8:12]}-4{key[13:16]}-a{key[17:20]}-{key[20:]}"
    if name == "bcrypt":
        return "$2b$12$" + draw.text(53, _ALPHABETS["crypt"])
    if name == "iban":
        return draw.iban(argument, draw.digits(18))
    if name in ("password", "plain", "b64pw", "b64login", "b64docker"):
        return _encoded(name, draw.password())
    size = int(argument)
    if name == "card":
        return draw.card(argument, 16)
    if name == "ssn":
        return f"{argument}{draw.digits(2)}-{draw.digits(2)}-{draw.digits(4)}"
    if name in _ALPHABETS:
        return draw.text(size, _ALPHABETS[name])
    if name == "base32g":
        key = draw.text(size, _ALPHABETS["base32"])
        return " ".join(key[at : at + 4] for at in range(0, size, 4))
    if name == "words":
        words = _WORDS.split()
        return " ".join(words[int(draw.text(4, string.digits)) % len(words)] for _ in range(size))
    if name in ("digits", "urlb64"):
        return draw.digits(size) if name == "digits" else draw.url_base64(size)
    value = draw.base64(size)
    return {"b64nopad": value.rstrip("="), "urlenc64": quote(value, safe="")}.get(name, value)


def _human(draw: Draw) -> str:
    """A password as people make them: a word, a number and a sign."""
    word = _WORDS.split()[int(draw.text(4, string.digits)) % len(_WORDS.split())]
    return word.capitalize() + draw.digits(2) + draw.text(2, string.digits) + draw.text(1, "!?#$%&*")


def _encoded(name: str, password: str) -> str:
    plain = {
        "password": "",
        "plain": f"\0anna@corp.example\0{password}",
        "b64pw": password,
        "b64login": f"anna:{password}",
        "b64docker": json.dumps({"auths": {"registry.internal": {"password": password}}}),
    }[name]
    return base64.b64encode(plain.encode()).decode() if plain else password


def harmless() -> list[tuple[str, str]]:
    """(kind, form) of texts that only look like those with secrets: placeholders, references, digests, public keys."""
    rows = [json.loads(line) for line in _HARMLESS.read_text("utf-8").splitlines()]
    return [(row["kind"], row["text"]) for row in rows]


def show_harmless(draw: Draw, masks: Masks) -> None:
    """Print which kinds of harmless text lose something in answers, and in which a secret or id is only flagged."""
    lost, flagged = [], []
    for kind, form in harmless():
        text = _AROUND + drawn(draw, form) + _AFTER
        spans = [each for each in masks.spans(text) if each[2] in GRADED]
        lost += [f"  redacted {kind}: {text[low:high]!r}" for low, high, _, is_redacted in spans if is_redacted]
        flagged += [kind for _, _, _, is_redacted in spans if not is_redacted]
    print(f"harmless: {len(harmless())} kinds, values redacted {len(lost)}, flagged {len(flagged)}")
    print("\n".join(lost), end="\n" if lost else "")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("tuning", "held"))
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--direction", choices=("responses", "requests"), default="responses")
    parser.add_argument("--list", action="store_true", help="print every kind that is not masked as it should be")
    options = parser.parse_args(argv)
    draw, masks = Draw(options.seed), Masks(options.direction)
    for half in [options.half] if options.half else ["tuning", "held"]:
        chosen = [kind for kind in kinds() if kind.half == half]
        counts, short = {"found": 0, "redacted": 0, "as meant": 0}, []
        for kind in chosen:
            value = drawn(draw, kind.value)
            text = _AROUND + kind.text.replace("{}", value) + _AFTER
            start = text.index(value)
            spans, end = masks.spans(text), start + len(value)
            found = covered([(low, high) for low, high, _, _ in spans], start, end)
            redacted = covered([(low, high) for low, high, _, is_redacted in spans if is_redacted], start, end)
            meant = redacted or (kind.is_likely and found and options.direction == "responses")
            for name, holds in zip(counts, (found, redacted, meant), strict=True):
                counts[name] += holds
            if not meant:
                state = "flagged" if found else "missed "
                short.append(f"  {state} {kind.name}: {kind.text.replace('{}', value)[:150]!r}")
        print(f"{half}: {len(chosen)} kinds, " + ", ".join(f"{name} {count}" for name, count in counts.items()))
        if options.list:
            print("\n".join(short))
    show_harmless(draw, masks)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
