"""Finds secrets by syntax other than a name: headers, commands and their options, logins, columns, webhooks.

One table has a row for each syntax: how it begins, where its values stand behind that, and how they are judged. One
search finds all beginnings. A value is a secret only if it looks like one (`named_secrets`).

    curl -u anna:tR4vel!ing https://…     ->  tR4vel!ing
    Cookie: theme=dark; sid=9f3bA71kQz0x  ->  9f3bA71kQz0x
    Authorization: Bearer 7f8e9d0c1b2a    ->  7f8e9d0c1b2a

Sources: RFC 6265 and 9110 (headers), the programs' manuals (options), read 2026-11-22.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

import re2

from gateway.sanitize.detectors.harmless import is_published_basic, is_published_secret
from gateway.sanitize.detectors.key_material import BEGINNINGS, find_block
from gateway.sanitize.detectors.named_secrets import judged, line_end
from gateway.sanitize.detectors.value_forms import Naming, has_high_entropy, is_identifier, is_placeholder
from gateway.sanitize.detectors.value_spans import quote_before
from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View
from gateway.sanitize.re2_search import searcher, spans
from gateway.sanitize.work_budget import WorkBudget

Judge: TypeAlias = Literal["setting", "owned", "paired", "random", "hook", "digits"]
"""`setting`: any value but a word about it; `owned`, `paired`: what looks like a password or key; `random`: drawn at
random; `hook`: the same in the parts of a path; `digits`: a card's security code."""
_V = rb"[\"']?([^\s\"'`]{4,160})"
_WORD = rb"[A-Za-z0-9_.@%+-]{1,64}"


class Row(NamedTuple):
    """`begins`: RE2 pattern of the beginning. `values`: pattern of the text behind it, with the value as its group;
    searched for in the rest of the line where `in_line`, else right behind the beginning; `many`: each match counts."""

    kind: str
    begins: bytes
    values: bytes
    judge: Judge
    in_line: bool = False
    many: bool = False


def _command(kind: str, names: str, values: bytes, judge: Judge = "setting") -> Row:
    """A row for commands, by their names, whose `values` stand anywhere in their line."""
    begins = rb"(?:^|[\s`\"'(;|&/$])(?:" + names.replace(" ", "|").encode() + rb")(?:\.exe)?[\"']?,?[ \t]"
    return Row(kind, begins, values, judge, in_line=True)


ROWS = (
    Row("authorization", rb"(?i:authorization)[\"']?(?: ?[:=,]>?)[ ]{0,2}[\"']?[A-Za-z][A-Za-z0-9_-]{1,20} [\"']?",
        rb"(?![(-])" + _V, "owned"),
    Row("scheme", rb"(?:^|[^\w/.-])(?i:bearer|negotiate)[ \t]{1,2}[\"']?", rb"(?![(+-])" + _V, "owned"),
    Row("basic", rb"(?:^|[^\w/.-])(?i:basic)[ \t]{1,2}[\"']?", rb"([A-Za-z0-9+/]{12,2048}={0,2})(?![\w.-])", "random"),
    Row("identified", rb"(?i:identified (?:with [\"'`]?[a-z0-9_]{2,30}[\"'`]? )?(?:by|as))\s{1,3}\\?'",
        _V, "setting"),
    Row("identified_by", rb"IDENTIFIED (?:BY|AS)\s{1,3}\\?", _V, "owned"),
    Row("path", rb"(?i:/token/|/apikey/|/secret/)", rb"([A-Za-z0-9+=_.%~-]{16,2048})", "random"),
    Row("securestring", rb"(?i:securestring)\s{1,3}(?:--?[A-Za-z]{2,12}\s{1,3}){0,4}", _V, "owned"),
    Row("user", rb"(?:\s-\w{0,3}[uU]|--user|--proxy-user)[ =]{1,3}[\"']?[A-Za-z0-9_.@-]{1,64}:", _V, "setting"),
    Row("pgpass", rb"(?:^|\n)[A-Za-z0-9_.*-]{1,64}:(?:[0-9]{4,5}|\*):[^\s:]{1,64}:[^\s:]{1,64}:",
        rb"(\S{4,160})", "setting"),
    Row("wifi", rb"WIFI:(?:[THRS]:[^;\n]{0,40};){0,4}P:", rb"([^;\n]{4,63})", "setting"),
    Row("block", BEGINNINGS, rb"", "paired"),
    Row("cookies", rb"(?i:cookie):[ \t]?|(?i:-cookie)[ =][\"']?|--cookie[ =]|\scurl [^\n]{0,80}-b ",
        rb"(?!_ga|_gid|_gat|_fbp|_gcl|_hj|__utm|(?i:consent|optanon|lang|locale|theme))[A-Za-z0-9_.$!-]{1,64}="
        rb"\"?([A-Za-z0-9+/=_.%~:|-]{12,2048})", "random", in_line=True, many=True),
    Row("query", rb"[?&](?:code|sig|signature|auth|state|jwt|sid)=", rb"([A-Za-z0-9+/=_.%~-]{16,2048})", "random"),
    Row("pair", rb"(?:^|[\s\"'(*>])(?i:login|log-?in|user(?:name)?|account|cred(?:ential)?|zugangsdaten"
        rb"|identifiants|credenciales)s?"
        rb"(?: (?i:is|are|as|with|using)|(?: [a-z]{1,12}){0,3} ?(?::|=>|->|=|-)) {0,2}[A-Za-z0-9_.@\\-]{1,64}"
        rb"(?: ?[/:] ?| and )", _V, "paired"),
    Row("login call", rb"(?i:\bauth|login|basicauth|log_in|authenticate)\s?=?\s?\(\s?[\"'][^\"'\n]{1,64}[\"'],\s?[\"']",
        _V, "paired"),
    Row("pair_named", rb"[/,] ?(?i:pass|pwd?|pw)[ :]{1,2}", _V, "paired"),
    Row("hook", rb"(?i:hooks?|webhookb2|reset|[/_-]reset[_-]password|magic[_-]?link)/",
        rb"([A-Za-z0-9_.@/~-]{20,400})", "hook"),
    Row("cardcode", rb"(?i:\bcv[vc]2?|card (?:security|verification) (?:code|number))[\"']?"
        rb"(?: (?:code|number|is))?[:= ]{1,3}[\"']?",
        rb"([0-9]{3,4})(?![\w/-]|[.,:][0-9])", "digits"),
    Row("columns", rb"(?:^|[|,;\t\n])[ \"]{0,2}(?i:pass(?:word|wd|phrase)?|pwd|kennwort|passwort"
        rb"|mot de passe|contrasena|senha|wachtwoord|secret|api[ _]?key|(?:(?:access|auth|api)[ _])?token)"
        rb"[ \"]*[|,;\t\r\n]", rb"", "paired"),
    _command("mysql", "mysql mysqldump mysqladmin mariadb mariadb-dump mycli", rb"\s-p" + _V),
    _command("short p", "sshpass mongo hdbsql mongosh mongodump mongorestore cqlsh clickhouse-client nxc"
             " crackmapexec evil-winrm psexec twine docker podman helm skopeo az oc", rb"\s-p ?" + _V),
    _command("short a", "redis-cli valkey-cli keydb-cli", rb"\s-a ?" + _V),
    _command("short w", "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd", rb"\s-w ?" + _V),
    _command("short capital", "sqlcmd bcp tsql isql ipmitool mosquitto_pub mosquitto_sub zip unzip ssh-keygen",
             rb"\s-[PN] ?" + _V),
    _command("archive", "7z 7za 7zz rar unrar", rb"\s-h?p" + _V),
    _command("openssl", "openssl", rb"\s(?:-[kK] |-?pass(?:in|out)? pass:)" + _V),
    _command("snmp", "snmpwalk snmpget snmpset snmpbulkwalk", rb"\s-[cAX] " + _V),
    _command("domain", "smbclient rpcclient net smbmap", rb"\s-U ?[\"']?" + _WORD + rb"%" + _V),
    _command("oracle", "sqlplus sqlldr expdp impdp rman", rb"\s[\"']?[\w$]{1,32}/([^\s@\"'/]{4,100})(?:@|[\"'\s]|\Z)"),
    _command("htpasswd", "htpasswd", rb"\s-\w{0,9}b\w{0,9}(?: \S{1,200}){1,2} " + _V),
    _command("vault", "vault wpa_passphrase ngrok",
             rb"(?:login|unseal|add-authtoken|authtoken|wpa_passphrase \S+) +" + _V, "owned"),
    _command("piped", "echo printf", rb"\s(?:-[ne]{1,2} )?[\"']?(?:[\w.-]{1,40}:)?([^\s\"'|]{4,100})[\"']? ?\| ?"
             rb"(?:sudo (?:-\w{1,20} ){0,4}-S|(?:sudo )?chpasswd|passwd --stdin|kinit|su |cryptsetup|docker login)"),
)  # fmt: skip
_BY_KIND = {row.kind.replace(" ", "_"): row for row in ROWS}
_VALUES = {kind: re.compile(row.values) for kind, row in _BY_KIND.items()}
_MEMORY = re2.Options()
_MEMORY.max_mem = 24 << 20
_FIND = searcher(re2.compile(b"|".join(row.begins for row in ROWS), _MEMORY))
_BEGINNINGS = re.compile(
    b"|".join(b"(?P<" + kind.encode() + b">" + row.begins + b")" for kind, row in _BY_KIND.items())
)
_OWNED = Naming(strong=True, proves=True, link="assigned", quote=b"")
_PAIRED = _OWNED._replace(link="paired")
_NAMINGS = {"setting": _OWNED, "owned": _OWNED, "paired": _PAIRED}
_MAX_LINE_CHARS = 2_048
"""How far a line is read for options and cookies: browsers send up to 4 KB of these, commands are shorter."""
_EXAMPLE_CODES = (b"000", b"111", b"123", b"999", b"0000", b"1111", b"1234", b"4321", b"321")
_CARD_NUMBER = re.compile(rb"(?:[0-9][ -]?){11}[0-9]")
_PATH_PART = re.compile(rb"[A-Za-z0-9_~-]{20,200}")
_UUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CELL = re.compile(rb"[ \t]{0,40}[`\"]?([^\s`\"]{4,160})")
_MAX_ROWS = 40
_RULE = b"-+|:= \t\r"


def find_syntax_secrets(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity SECRET, in folded offsets; not in order. Raises BudgetExceeded."""
    text, read_to = view.folded, -1
    for start, end in spans(_FIND, text):
        budget.spend(22)
        beginning = _BEGINNINGS.match(text, start, end)
        if beginning is None or beginning.lastgroup is None:
            continue
        kind = beginning.lastgroup
        row = _BY_KIND[kind]
        if row.in_line and end <= read_to:
            continue  # in the line of a command that was read
        if kind == "columns":
            yield from _below(text, start, end, budget)
            continue
        if kind == "block":
            yield from find_block(text, start, end, budget)
            continue
        high = line_end(text, end, _MAX_LINE_CHARS) if row.in_line else len(text)
        values = (
            _VALUES[kind].finditer(text, end - row.in_line, high) if row.in_line else [_VALUES[kind].match(text, end)]
        )
        budget.spend((high - end) // 32 if row.in_line else 2)
        for value in values:
            if value is not None:
                read_to = value.end()
                yield from _judge(text, value.span(1), row.judge, budget)
            if not row.many:
                break


def _judge(text: bytes, span: tuple[int, int], judge: Judge, budget: WorkBudget) -> Iterator[Finding]:
    start, end = span
    value = text[start:end]
    budget.spend(30 + len(value) // 4)
    if judge == "digits":
        if value not in _EXAMPLE_CODES:
            is_owned = text[start - 1 : start] in (b'"', b"'") or b":" in text[start - 3 : start]
            is_owned = is_owned or _CARD_NUMBER.search(text, max(0, start - 100), start) is not None
            yield Finding(start, end, "SECRET", is_owned)
    elif judge == "hook":
        parts = [part for part in _PATH_PART.finditer(text, start, end) if _is_drawn(part.group())]
        if parts:
            yield Finding(parts[0].start(), parts[-1].end(), "SECRET")
    elif judge == "random":
        value = value.rstrip(b".")
        is_harmless = is_placeholder(value.lower()) or is_published_secret(value) or is_published_basic(value)
        if _is_drawn(value) and not is_harmless:
            yield Finding(start, start + len(value), "SECRET")
    else:
        naming = _NAMINGS[judge]._replace(quote=quote_before(text, start))
        finding = judged(text, start, value, naming, budget)
        if finding is None and judge == "setting":
            finding = judged(text, start, value, naming._replace(any_word=True), budget)
            finding = finding and finding._replace(certain=False)
        if finding is not None and not is_published_basic(text[finding.start : finding.end]):
            at = text.find(b"@", finding.start, finding.end) if judge == "paired" else -1
            yield finding if at < finding.start + 4 else finding._replace(end=at)


def _is_drawn(value: bytes) -> bool:
    return has_high_entropy(value) and not is_identifier(value) and _UUID.fullmatch(value) is None


def _below(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The secrets below a column's name in a table whose cells a comma, semicolon, tab or bar parts."""
    low = text.rfind(b"\n", 0, start + 1) + 1
    high = line_end(text, max(end - 1, low))
    marks = [mark for mark in (b"\t", b"|", b";", b",") if mark in text[low:high]]
    if not marks:
        return
    mark = marks[0]
    index, cells, at = text.count(mark, low, start + 1), text.count(mark, low, high), high + 1
    for _ in range(_MAX_ROWS):
        row_end = line_end(text, at)
        budget.spend(4 + (row_end - at) // 32)
        if row_end > at and not text[at:row_end].strip(_RULE):
            at = row_end + 1
            continue
        if row_end <= at or text.count(mark, at, row_end) != cells:
            return
        cell = at
        for _ in range(index):
            cell = text.find(mark, cell, row_end) + 1
        cell_end = text.find(mark, cell, row_end)
        value = _CELL.match(text, cell, cell_end if cell_end >= 0 else row_end)
        if value is not None:
            yield from _judge(text, value.span(1), "paired", budget)
        at = row_end + 1
