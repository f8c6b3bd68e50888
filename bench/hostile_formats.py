"""Mails and notebooks that cost much to read: rows of `hostile_functions`."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gateway.engines.documents.sniff import kind_of, read

Make = Callable[[int], bytes]
_HEAD = b"From: a@example.org\nDate: Mon, 1 May 2023 10:00:00 +0200\nSubject: x\n"
_MAIL_UNITS = {
    "headers": (b"", b"X-%d: y\n"),
    "folded header": (b"X-Long: y\n", b" z%d\n"),
    "encoded words": (b"Cc: ", b"=?utf-8?Q?a=C3=A9%d?= "),
    "half encoded words": (b"Cc: ", b"=?utf-8?Q?%d"),
    "names": (b'Content-Disposition: attachment; filename="', b"name=%d"),
    "boundaries": (b"Content-Type: multipart/mixed; boundary=b\n\n", b"--b\n\nt%d\n"),
    "longer boundaries": (b"Content-Type: multipart/mixed; boundary=b\n\n--b\n", b"--b%d\n"),
    "parts inside each other": (b"", b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n"),
    "mails inside each other": (b"", b"Content-Type: message/rfc822\n\nFrom: a%d\n"),
    "mails": (b"\ntext\n", b"\nFrom a@b Mon May  1 10:00:%d 2023\nFrom: a\n\ntext\n"),
    "no mails": (b"\ntext\n", b"\nFrom a@b Mon May 10:00 %d\n"),
    "base64": (b"Content-Transfer-Encoding: base64\n\n", b"QUFB%d="),
    "quoted": (b"Content-Transfer-Encoding: quoted-printable\n\n", b"=%d=\n="),
    "HTML": (b"Content-Type: text/html\n\n", b"<p>a%d<b>"),
}


def _mail(start: bytes, unit: bytes, size: int) -> bytes:
    pieces = (unit.replace(b"%d", b"%d" % at) for at in range(size // len(unit)))
    return (b"From a Mon May  1 10:00:00 2023\n" if b"\nFrom a@b" in unit else b"") + _HEAD + start + b"".join(pieces)


MAILS: Mapping[str, Make] = {name: partial(_mail, *parts) for name, parts in _MAIL_UNITS.items()}
"""Mails of about so many bytes."""


def _notebook(cell: Any, size: int) -> bytes:
    cells = [cell] * max(1, size // len(json.dumps(cell)))
    return json.dumps({"nbformat": 4, "cells": cells}).encode()


def _of_text(kind: str, unit: str, size: int) -> bytes:
    text = unit * (size // len(unit))
    output = {"output_type": "stream", "text": text}
    return _notebook({"cell_type": kind, "source": "" if kind == "code" else text, "outputs": [output]}, 1)


def _of_outputs(output: Any, size: int) -> bytes:
    outputs = [output] * (size // len(json.dumps(output)))
    return _notebook({"cell_type": "code", "source": "a", "outputs": outputs}, 1)


NOTEBOOKS: Mapping[str, Make] = {
    "cells": partial(_notebook, {"cell_type": "code", "source": "a"}),
    "headings": partial(_notebook, {"cell_type": "markdown", "source": "# a"}),
    "lines": partial(_of_text, "raw", "`\n"),
    "pictures": partial(_of_text, "markdown", "](data:)"),
    "open pictures": partial(_of_text, "markdown", "](data:"),
    "colours": partial(_of_text, "code", "\x1b[1;31;"),
    "lines written over": partial(_of_text, "code", "a\r"),
    "pieces": partial(_of_outputs, {"output_type": "stream", "text": "a\n"}),
    "results": partial(_of_outputs, {"output_type": "execute_result", "data": {"text/plain": "a"}}),
}
"""Notebooks of about so many bytes."""


def mail(body: bytes) -> object:
    """The body's kind, and its text as a mail."""
    return kind_of("text/plain", body), read("mail", body, "", False)


def notebook(body: bytes) -> object:
    """The body's kind, and its text as a notebook."""
    return kind_of("application/json", body), read("notebook", body, "", False)
