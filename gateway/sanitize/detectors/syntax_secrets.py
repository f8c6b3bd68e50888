"""Finds secrets by syntax other than a name: commands and their options, headers, calls, records, addresses.

One search finds the beginnings of all syntaxes; a table says for each what follows it and who judges that. `commands`
reads shell commands, `key_material` blocks and lists. A value is a secret only if it looks like one (`secret_values`).
"""

import re
from collections.abc import Callable, Iterator

import re2

from gateway.sanitize.detectors import (
    command_secrets,
    cookie_secrets,
    directive_secrets,
    key_material,
    pair_secrets,
    section_secrets,
    table_secrets,
)
from gateway.sanitize.detectors.name_patterns import NAMED
from gateway.sanitize.detectors.published_examples import is_published_basic, is_published_secret
from gateway.sanitize.detectors.secret_names import is_mark_of_place
from gateway.sanitize.detectors.secret_spans import judged, line_end, line_start, secret_at
from gateway.sanitize.detectors.secret_values import Link, Naming, quote_before
from gateway.sanitize.detectors.value_forms import alternates_kinds, has_high_entropy, is_identifier, is_publishable
from gateway.sanitize.text import Finding, View, WorkBudget, searcher, spans

Handler = Callable[[bytes, int, int, WorkBudget], Iterator[Finding]]
"""(text, start and end of the syntax's beginning, budget) -> findings."""
_OWNED = Naming(strong=True, proves=True, link="assigned", quote=b"")
_PAIRED = _OWNED._replace(link="paired")


def find_syntax_secrets(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity SECRET, in folded offsets; not in order. Raises BudgetExceeded."""
    text, commands_end = view.folded, -1
    for start, end in spans(_FIND, text):
        budget.spend(6)
        forms = command_secrets.forms_at(text, start)
        if forms is not None:
            if end > commands_end:  # else a command within the line of one that was read
                commands_end, findings = command_secrets.read_line(text, start, forms, budget)
                yield from findings
            continue
        beginning = _BEGINNINGS.match(text, start, end)
        if beginning is not None and beginning.lastgroup is not None:
            yield from _HANDLERS[beginning.lastgroup](text, start, end, budget)


def has_names(text: bytes) -> bool:
    """Whether the folded text has a name or a syntax that makes what follows it a secret."""
    return NAMED.search(text) is not None or _SYNTAX.search(text) is not None


def _owned(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The syntax alone owns what follows it: SQL in capitals, options and headers; not `identified by x` in prose."""
    mark, quote = text[start : start + 1], quote_before(text, end)
    strong = mark in (b" ", b"-", b"I", b"s", b"S", b"i", b"W", b";", b"c", b"\n", b"<", b"[")
    if mark != b"i" and (strong or mark == b"/" or _LABELLED.search(text, max(0, start - 40), end)):
        link: Link = "assigned"
    else:
        link = "assigned" if mark != b"i" and quote and quote != b"`" else "beside"
    finding = secret_at(text, end, Naming(strong, not is_mark_of_place(text, start), link, quote), budget)
    if finding is not None and not is_published_basic(text[finding.start : finding.end]):
        yield finding


def _random_word(text: bytes, _: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """A word or cookie of random characters right behind the syntax: sessions, codes, signatures."""
    match = _TOKEN.match(text, end)
    if match is not None:
        budget.spend(6 + len(match.group()) // 8)
        value = match.group().rstrip(b".")
        if has_high_entropy(value) and not is_identifier(value) and not is_published_secret(value):
            yield Finding(end, end + len(value), "SECRET")


def _tagged(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """A key behind its maker's name and kind (`acme_live_…`), where capitals, small letters and digits alternate."""
    match = _TAGGED.match(text, end)
    if match is not None:
        budget.spend(6 + len(match.group()) // 8)
        value = match.group()
        if value != value.lower() and alternates_kinds(value, 16) and not is_published_secret(value):
            yield Finding(start, match.end(), "SECRET", not is_publishable(text[start : match.end()]))


def _webhook(text: bytes, _: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The random parts of the path behind `/hooks/` or `/webhook/`: whoever knows them may post."""
    path = _PATH.match(text, end)
    if path is None:
        return
    budget.spend(8 + len(path.group()) // 4)
    parts = [part for part in _PATH_PART.finditer(text, end, path.end()) if _is_hook_key(part.group())]
    if parts:
        yield Finding(parts[0].start(), parts[-1].end(), "SECRET")


def _is_hook_key(part: bytes) -> bool:
    return len(part) >= 20 and has_high_entropy(part) and not is_identifier(part) and _UUID.fullmatch(part) is None


def _call(text: bytes, _: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """Random strings among the arguments of a call that logs in or signs."""
    budget.spend(6)
    arguments, depth = _ARGUMENTS.match(text, end), 1
    for part in _STRING_OR_BRACKET.finditer(text, end, arguments.end() if arguments else end):
        if part.group(1) is None:
            budget.spend(1)
            depth += 1 if part.group() == b"(" else -1
            if not depth:
                return
            continue
        value = part.group(2)
        budget.spend(8 + len(value) // 4)
        if _WHOLE_WORD.fullmatch(value) and not is_identifier(value) and b"://" not in value:
            finding = judged(text, part.start(2), value, _PAIRED._replace(quote=part.group(1)), budget)
            if finding is not None:
                yield finding


def _record(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The last field of a line of `.pgpass`, `chap-secrets`, `sasl_passwd` or a dump of Windows' accounts."""
    budget.spend(8)
    low = line_start(text, start + 1)
    if low and text[low - 1 : low] != b"\n":
        return  # a line of code without breaks
    low = text.rfind(b'": "', low, start) + 4 if b'": "' in text[low:start] else low  # a line that JSON quotes
    low = start - len(text[low:start].lstrip(b" "))
    for form in _RECORDS:
        match = form.match(text, low, line_end(text, end))
        if match is not None:
            finding = judged(text, match.start(1), match.group(1), _PAIRED, budget)
            if finding is not None:
                yield finding
            return


def _login_line(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """`PASS x` after `USER` or a server's answer, `a1 LOGIN user x`, `IDENTIFY x`: mail, FTP and IRC."""
    budget.spend(8)
    if text.startswith((b"PLAIN ", b"LOGIN "), end):
        yield from _random_word(text, start, end + 6, budget)
        return
    if text[start:end].strip() == b"PASS" and not _PROTOCOL.search(text, max(0, start - 160), start):
        return
    match = _LOGIN_WORDS.match(text, end)
    if match is not None:
        finding = judged(text, match.start(1), match.group(1), _PAIRED, budget)
        if finding is not None:
            yield finding


def _recovery_password(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """BitLocker's: eight groups of six digits, each a multiple of 11 below 2^16 * 11 (Microsoft's documentation)."""
    budget.spend(8)
    groups = [int(group) for group in text[start:end].split(b"-")]
    if all(group % 11 == 0 and group < 11 << 16 for group in groups) and len(set(groups)) > 4:
        yield Finding(start, end, "SECRET")


def _card_code(text: bytes, _: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The security code of a card right behind its label: certain behind a sign, or where a card's number precedes."""
    budget.spend(6)
    code = _CARD_CODE.match(text, end)
    if code is not None and code.group(1) not in _EXAMPLE_CODES:
        is_owned = text[end - 1 : end] in _ASSIGNING or text[end - 2 : end - 1] in _ASSIGNING
        certain = is_owned or _CARD_NUMBER.search(text, max(0, end - _CARD_REACH_CHARS), end) is not None
        yield Finding(*code.span(1), "SECRET", certain)


_LABELLED = re.compile(rb"(?i:uthorization|nt(?:lm|[ _-]?hash)[ \t]{0,8}[:=])")
_CARD_CODE = re.compile(rb"([0-9]{3,4})(?![\w/-]|[.,:][0-9])")
_EXAMPLE_CODES = (b"000", b"111", b"123", b"999", b"0000", b"1111", b"1234", b"4321", b"321")
_CARD_NUMBER = re.compile(rb"(?:[0-9][ -]?){11}[0-9]")
_CARD_REACH_CHARS = 100
"""Chosen: how far before a security code a card's number makes it certain: number, date and name fit. At half a name
between is too long; at double the numbers of other lines count."""
_ASSIGNING = (b":", b"=", b'"', b"'")
_TOKEN = re.compile(rb"[A-Za-z0-9+/=_.%~-]{16,2048}")
_TAGGED = re.compile(rb"[A-Za-z0-9_.-]{20,200}")
_PATH = re.compile(rb"[A-Za-z0-9_.@/~-]{20,400}")
_PATH_PART = re.compile(rb"[A-Za-z0-9_~-]{1,200}")
_UUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ARGUMENTS = re.compile(rb"[^\n]{1,300}")
_STRING_OR_BRACKET = re.compile(rb"([\"'`])([^\n]{0,200}?)\1|[()]")
_WHOLE_WORD = re.compile(rb"[^\"'`\s]{6,160}")
_RECORD_END = rb"(?:[ \t\r]*\Z|\")"
"""The end of the line, or of a string that quotes it."""
_RECORDS = tuple(
    re.compile(form)
    for form in (
        rb"[A-Za-z0-9_.*/-]{1,100}:(?:[0-9]{2,5}|\*):[^:\s]{1,64}:[^:\s]{1,64}:([^\s\"]{4,160})" + _RECORD_END,
        rb"[ \t]{0,40}[\"\w.@*\\-]{1,64}[ \t]{1,40}\*[ \t]{1,40}\"?(?![A-Za-z_][\w.]{0,60}\()([^\s\"]{4,160})",
        rb"\[?[\w.-]{1,100}\]?:[0-9]{2,5}[ \t]{1,40}[^\s:]{1,100}:([^\s\"]{4,160})" + _RECORD_END,
        rb"[^\s:]{1,64}:[0-9]{1,7}:([0-9A-Fa-f]{32}:[0-9A-Fa-f]{32}):",
    )
)
_PROTOCOL = re.compile(rb"(?m)(?:^|\")(?:C: |S: |-{0,4}> |<-{0,4} )?(?:USER \S|331[ -]|\+OK|AUTH )|NICK \S")
_LOGIN_WORDS = re.compile(rb"(?:[\"\w.@+-]{1,80}+ )?\"?([^\s\"]{4,160}+)(?:[ \t\r]*(?:\n|\Z)|\")")

_CALLS = (
    rb"(?i:log_?in|sign_?in|authenticate|basic_?auth|http(?:basic|digest)auth|credentials?|passwordauthentication"
    rb"|(?:get|new)_?connection"
    rb"|connect|ldap_bind|simple_bind(?:_s)?|imap_open|auth_password|mysqli|pdo|secretkeyspec|fernet|cookieparser|createhmac|hmac\.new|jwt\.(?:sign|verify|encode"
    rb"|decode)|auth|wallet|privatekeyto\w{1,16}|from_?(?:private_?)?key)"
)
_NAMED_KINDS = {
    "record": rb":(?:[0-9]{2,5}|\*):[A-Za-z_*]|[\w\"][ \t]{1,8}\*[ \t]{1,8}[\"\w]|:[0-9]{2,5}[ \t]+[^\s:]{1,64}:[^\s/]"
    rb"|:[0-9]{3,7}:[0-9A-Fa-f]{8}",
    "owned": rb"(?i:identified (?:with [\"'`]?[a-z0-9_]{2,30}[\"'`]? )?(?:by|as))\s{1,3}[\"'\\]{0,2}"
    rb"|(?i:securestring)\s{1,3}(?:--?[A-Za-z]{2,12}\s{1,3}){0,4}[\"'\\]{0,2}"
    rb"|(?:\s-u|--user|--proxy-user)[ =]{1,3}[\"']?[A-Za-z0-9_.@-]{1,64}:"
    rb"|(?i:authorization)[\"']?[:=, ]{1,3}[\"']?[A-Za-z][A-Za-z0-9_-]{1,20} (?:\\\n)?[\"']?"
    rb"|(?i:\bnt(?:lm|[ _-]?hash))[ \t]{0,8}[:=][ \t]{1,3}"
    rb"|(?i:basic|bearer|ntlm|digest|token|negotiate)\s{1,2}(?:\\\n)?[\"']?"
    rb"|(?i:/token/|/apikey/|/secret/)"
    rb"|createUser \S{1,40} (?:MD5|SHA(?:-?[0-9]{3})?) [\"']?"
    rb"|(?:^|\n)[ \t]{0,8}community[ \t]?=[ \t]?[\"']|secure_link_md5 \"[^\";\n]{0,80}\$[a-z_]{1,20} "
    rb"|(?:^|\n)[ \t]{0,16}(?:masterauth|auth_pass)[ \t]{1,8}[\"']?"
    rb"|<auth-user-pass>\s{1,8}[^\s<>]{1,64}[ \t]{0,4}\r?\n[ \t]{0,8}"
    rb"|WIFI:(?:[THRS]:[^;\n]{0,40};){0,4}P:"
    rb"|; ?name=\"[\w.-]{0,20}(?i:passw(?:or)?d|passwd|pwd|secret|token|api_?key)\"[ \r]{0,4}\n[ \r]{0,4}\n"
    rb"|\[\+\] [\w.-]{1,64}\\{1,4}[\w.$-]{1,64}:",
    "random": rb"::add-mask::|\bencrypt[ \t]{0,4}[=:][ \t]{0,4}[\"']"
    rb"|\.login[ \t]?[=:][ \t]?[\"']?|(?:\n|^|[ \t{,-])[\"']?secure[\"']?:[ \t]{1,3}[\"']?"
    rb"|\t(?:TRUE|FALSE) {0,2}\t[0-9]{1,11} {0,2}\t[^\s]{1,64} {0,2}\t|[?&]code=|(?i:[jp](?:hp)?sess(?:ion)?id"
    rb"|sessionid|connect\.sid|_session)=|SAML(?:Response|Request"
    rb"|art)=|, ?response=\"?"
    rb"|AUTH (?:PLAIN|LOGIN) |AUTHENTICATE PLAIN |(?:334 UGFzc3dvcmQ6[ \r]{0,4}\n ?(?:C: )?)",
    "tagged": rb"\b[a-z]{2,12}[_-](?:live|prod|sk|pat|secret|token|api_?key)[_.-]",
    "first": pair_secrets.FIRST_VALUES,
    "pair": pair_secrets.PAIRS,
    "cookies": cookie_secrets.HEADERS,
    "cookielist": cookie_secrets.LISTS,
    "directive": directive_secrets.DIRECTIVES,
    "printed": directive_secrets.PRINTED,
    "driver": directive_secrets.DRIVERS,
    "webhook": rb"(?i:hooks?|webhookb2|/reset|[/_-]reset[_-]password|password[/_-]reset|magic[_-]?link)/",
    "call": _CALLS + rb"(?:->__construct)?\s?\(|\bauth=\(",
    "recovery": rb"\b[0-9]{6}(?:-[0-9]{6}){7}\b",
    "cardcode": rb"(?i:\bcv[vc]2?|card (?:security|verification) (?:code|number))[\"']?(?: (?:code|number|is))?"
    rb"[:= ]{1,3}[\"']?",
    "login": rb" LOGIN |(?:^|\n|> )AUTH |(?:^|\n)(?:C: |-{0,4}> )?PASS |IDENTIFY |[nN]ick[sS]erv identify ",
    "column": table_secrets.HEADERS,
    "insert": table_secrets.INSERTS,
    "section": section_secrets.HEADINGS,
    "block": key_material.BEGINNINGS,
    "pipe": command_secrets.PIPES,
}
_MEMORY = re2.Options()
_MEMORY.max_mem = 24 << 20
"""Bytes for the automaton's states. Measured on 100,000 characters of all syntaxes in turn: 0.6 ms at this size and at
16 MB, 50 ms at 8 (the default), where states are made again and again. At double hostile texts take more memory."""
_SYNTAX = re2.compile(b"|".join((*_NAMED_KINDS.values(), command_secrets.BEGINNINGS)), _MEMORY)
_FIND = searcher(_SYNTAX)
_BEGINNINGS = re.compile(b"|".join(b"(?P<" + kind.encode() + b">" + form + b")" for kind, form in _NAMED_KINDS.items()))
_HANDLERS: dict[str, Handler] = {
    "owned": _owned,
    "random": _random_word,
    "tagged": _tagged,
    "first": pair_secrets.find_before_name,
    "pair": pair_secrets.find_password,
    "cookies": cookie_secrets.find_in_header,
    "cookielist": cookie_secrets.find_in_list,
    "directive": directive_secrets.find_behind,
    "printed": directive_secrets.find_printed,
    "driver": directive_secrets.find_before,
    "webhook": _webhook,
    "call": _call,
    "record": _record,
    "recovery": _recovery_password,
    "cardcode": _card_code,
    "login": _login_line,
    "column": table_secrets.find_below,
    "insert": table_secrets.find_inserted,
    "section": section_secrets.find_below,
    "block": key_material.find_at,
    "pipe": lambda text, start, _, budget: command_secrets.read_pipe(text, start, budget),
}
