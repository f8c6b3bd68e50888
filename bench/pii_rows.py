"""Rows of what people and programs write all day, for the sanitizer's tests and `bench.pii`. Not a measurement."""

import string
from urllib.parse import quote

from bench.pii_makers import DISGUISES, MAKERS, Maker, any_of, joined, one_of


def _hex(size: int) -> Maker:
    return any_of("0123456789abcdef", size, size)


def _numbers(joint: str, count: int, form: str, ending: str = "\n") -> Maker:
    return lambda source: joint.join(format(source.uniform(-500, 500), form) for _ in range(count)) + ending


def _number(size: int) -> Maker:
    return any_of(string.digits, size, size)


_WORD = MAKERS["word"]
_TIME = joined("2026-", one_of("01", "07", "11"), "-", one_of("03", "19", "28"), "T10:", one_of("07", "42"), ":11")
ORDINARY: dict[str, Maker] = {
    "floats": _numbers(",", 8, ".6f"),
    "floats with spaces": _numbers(" ", 6, ".3f"),
    "coordinates": lambda source: f"[{source.uniform(-180, 180):.7f},{source.uniform(-90, 90):.7f}],",
    "LaTeX table": _numbers(" & ", 6, ".3f", " \\\\\n"),
    "metrics": joined('{"ts": 17', _number(8), ', "cpu": 0.', _number(4), ', "host": "web-', _number(2), '"}\n'),
    "access log": joined(
        "10.0.", one_of("1", "17", "240"), ".9 - - [21/Nov/2026:10:07:11 +0000] \"GET /", _WORD, "/", _number(5),
        '?page=2 HTTP/1.1" 200 ', _number(5), ' "-" "Mozilla/5.0 (X11; Linux x86_64) Chrome/131.0.6778.86"\n',
    ),
    "log": joined(
        _TIME, ".", _number(3), "Z INFO [", _WORD, "] request ", MAKERS["uuid"], " took ", _number(3),
        " ms\n",
    ),
    "syslog": joined("Nov 21 10:07:11 host kernel: [", _number(6), ".", _number(6), "] irq at 0x", _hex(12), "\n"),
    "checksums": joined(_hex(64), "  ", _WORD, "-1.20.3.tar.gz\n"),
    "UUIDs": joined(MAKERS["uuid"], "\n"),
    "ISBNs": joined("ISBN 978-", _number(1), "-", _number(4), "-", _number(4), "-", _number(1), " ", _WORD, "\n"),
    "prices": joined(_WORD, " ", _WORD, "\t", _number(4), ".99 EUR\t12,", _number(3), ".50\n"),
    "SQL": joined("INSERT INTO `t` VALUES (", _number(6), ",'", _WORD, "','", _TIME, "',NULL,", _number(8), ");\n"),
    "URLs": joined(
        "https://www.example.org/", _WORD, "/", _number(6), "?id=", _number(8), "&ref=", _WORD, "&v=",
        _hex(12), "\n",
    ),
    "settings": joined("APP_", _WORD, "_LIMIT=", _number(4), "\n"),
    "percent JSON": lambda source: quote(f'{{"{_WORD(source)}": "{_WORD(source)}", "n": {_number(3)(source)}}}') + "\n",
    "Cyrillic as escapes": lambda source: DISGUISES["escapes"](any_of("абвгдежзиклмно", 6, 6)(source)) + " ",
    "CJK as escapes": lambda source: DISGUISES["escapes"](any_of("的一是不了人我在有他这为", 9, 9)(source)) + ",",
    "HTML": joined("<p>", _WORD, " &amp; ", _WORD, "&nbsp;", _WORD, " &#8217;", _WORD, "&quot;</p>\n"),
    "FASTA": joined(">seq", _number(6), "\n", any_of("ACGT", 60, 60), "\n"),
    "chess": one_of("12. e4 e5 ", "13. Nf3 Nc6 ", "14. Bb5 a6 ", "15. O-O Be7 "),
    "minified": joined(
        "function a(e,t){var n=", _number(2), ",r=e[0]||t.", _WORD, ";return n&&r?n+'", _WORD,
        "':null}",
    ),
    "statement": joined("2026-11-0", _number(1), "  ", _WORD, " REF ", _number(10), "  ", _number(3), ".00\n"),
    "lock file": joined(
        '"', _WORD, '": {"version": "1.', _number(2), '.0", "integrity": "sha512-',
        any_of(string.ascii_letters + string.digits + "+/", 86, 86), '=="},\n',
    ),
    "customers": joined(
        _number(5), ",", _WORD, ",", _WORD, _number(3), "@mail.posthaus,+49 30 ", _number(7), ",",
        _WORD, "\n",
    ),
    "phone book": joined(_WORD, " ", _WORD, ": +49 30 ", _number(7), "\n"),
    "addresses": lambda source: f"93.{source.randint(0, 255)}.{source.randint(0, 255)}.{source.randint(0, 255)}\n",
    "vCards": joined(
        "BEGIN:VCARD\nFN:", _WORD, "\nTEL:+1 212 736 ", _number(4), "\nEMAIL:", _WORD,
        "@mail.posthaus\nEND:VCARD\n",
    ),
    "telephones": joined("(415) 555-", _number(4), "\n+49 30 ", _number(4), " ", _number(4), "\n"),
    "customers JSON": joined(
        '{"id": ', _number(4), ', "name": "', _WORD, '", "email": "', _WORD, _number(3), '@mail.posthaus", "phone": ',
        '"+44 20 7946 ', _number(4), '", "passport_number": "', _number(9), '", "ssn": "', _number(3), "-", _number(2),
        "-", _number(4), '", "ip": "8.8.', _number(2), ".", _number(2), '"},\n',
    ),
    "invoices XML": joined(
        '<customer id="', _number(9), '" tax_id="', _number(9), '" iban="DE', _number(20), '" vat="DE', _number(9),
        '"><phone>0', _number(3), " ", _number(7), "</phone></customer>\n",
    ),
    "links with mail": joined(
        "https://shop.example.com/p/", _number(9), "?utm_source=a%20b&ref=", _number(10), "&e=", _WORD,
        "%40mail.example\n",
    ),
}  # fmt: skip
"""Rows of what people and programs write all day: the detectors must judge all of it."""
SECRET: Maker = joined(
    "SERVICE_", _number(3), "_PASSWORD=pw", _number(8), "x\nSERVICE_", _number(3), "_TOKEN=",
    any_of(string.ascii_letters + string.digits + "+/", 24, 24), "\nHOST=10.0.0.", _number(2), "\n",
)  # fmt: skip
"""The densest text of values known: settings that are nothing but secrets."""
