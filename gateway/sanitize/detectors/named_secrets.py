"""Finds values that the name beside them makes a secret: `password: …`, `api_key = …`, `Bearer …`, `user:pass@host`.

This module finds names and how they lead to values; `secret_values` judges the values. A name is read whole: what
follows `password` in it (`password_encryption`) may say that the value is something about a password, what precedes
`key` (`public_key`) that it is no secret. The verb "pass" names nothing.
"""

import re
from collections.abc import Iterator

import re2

from gateway.sanitize.detectors.published_examples import is_published_basic, is_published_login
from gateway.sanitize.detectors.re2_search import searcher, spans
from gateway.sanitize.detectors.secret_values import (
    Link,
    Naming,
    is_placeholder,
    judge_secret,
    quote_before,
    value_at,
)
from gateway.sanitize.detectors.value_forms import is_identifier, is_leet_password_word, is_password_word, is_random
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

_STRONG = (
    rb"(?i:passw(?:or)?ds?|passphrase|passcode|psswor?ds?|passwrd|pswd|userpwd|passin|kennwort|passwort|mot de passe"
    rb"|contrasena|senha|wachtwoord|haslo|parol)|(?:^|[^A-Za-z])(?i:pass|pwd?|pin|psk)|(?i:bindpw)|[a-z](?:Pass|Pwd|Pw)|[_-](?i:pwd?|pass)"
)
_WEAK = (
    rb"(?i:secret|token|credentials?|bearer|api[_ -]?key|accesskey|authorization|oauth|signature"
    rb"|connection[_ -]?string)"
    rb"|(?:^|[^A-Za-z])(?i:auth|sig|key|pkey|license)|[a-z](?:Key|Sig|Auth)|[A-Z_-](?:KEY|key)"
)
NAMES = _STRONG + rb"|" + _WEAK
"""RE2 pattern of the names that make what follows a secret."""
_SUFFIX = rb"(?=([_.0-9A-Z-][A-Za-z0-9_.-]{0,24}(?<!-(?=>))|s|))\1(?:,[a-z]{2,12}| for [a-z0-9]{2,20})?"
_CLOSE = rb"(?:\\?[\"'`]|&quot;|\)|\]|\([A-Za-z]{0,20}\))?"
_OPEN = rb"(?:\(\s?)?(?:\\{0,2}[\"'`]|&quot;)?"
_ASSIGN = (
    rb"\s{0,3}:\s?(?:String|str|string|char\*?|const)\s{0,2}=\s{0,3}|[ \t]{0,3}(?:=>|:=|->|={1,3}|:)\s{0,3}|%3[dDaA]"
)
_ARGUMENT = rb"(?<=[A-Z]),\s{0,2}(?=[\"'])"  # setopt(PASSWORD, "x")
_ELEMENT = rb">(?=[^\s<>]{4,160}</)"  # <password>x</password>
_LISTED = rb"\s{0,2},\s{0,2}(?=[\"'])"
_SAID = rb"[ \t]{1,3}(?i:is|was|by|=|ist|lautet|est|es)[ \t]{1,3}"
_NAMED = re2.compile(NAMES)
_FIND_NAME = searcher(_NAMED)
_ANY_NAME = re.compile(NAMES)
_ASSIGNED = re.compile(
    _SUFFIX
    + _CLOSE
    + rb"(?:("
    + _ASSIGN
    + rb"|"
    + _ARGUMENT
    + rb"|"
    + _ELEMENT
    + rb")|("
    + _LISTED
    + rb")|("
    + _SAID
    + rb")|[ \t]{1,3})"
    + _OPEN
)
"""What leads from a name to its value. Not one pattern with the names, as that has too many states for RE2."""
_LINKS: tuple[Link, ...] = ("beside", "beside", "assigned", "listed", "said")
"""By the last group of _ASSIGNED that matched; the first one is the rest of the name."""
_IS_STRONG = re.compile(_STRONG)
_SAYS_ABOUT = re.compile(
    rb"encr|hash|chang|reset|min|max|len|polic|field|input|file|path|type|ur[li]|name|expir|ttl|age|time|valid|algor|format"
    rb"|method|mode|hint|prompt|requir|enabl|list|count|size|start|contain|null|hook|handle|manag|provid|class|form|view"
    rb"|backend|strength|attr|column|source|sha|reverse|match|confirm|repeat|help|label|error|status|stor|lookup|command|cmd"
    rb"|callback|generat|function|option|setting|config|rule|history|rotat|sniff|auth|check|through|thru|widget|uidb|token_"
)
"""Words in the rest of a name that make it the name of something about a password or key."""
_NOT_SECRET_KEYS = re.compile(
    rb"(?:public|pub|primary|foreign|partition|sort|cache|idempotency|host|row|unique|index|map|hash|dict|group|object|lookup"
    rb"|registry|hot|arrow|access|cursor|page|dns|zone|trust|composite|natural|surrogate|bucket|s3|storage|i18n|message"
    rb"|option|config|setting|json|header|cookie|session|query|order|shard|routing|signing)[ _-]?\Z"
)
"""Words before a bare `key` or `sig` that say which one it is; its values are no credentials for certain."""
_NOT_SECRET_TOKENS = re.compile(
    rb"(?:next|page|pagination|continuation|continue|request|idempotency|lock|change|update|sync|delta|cursor|import|client|starting)"
    rb"[ _-]?token"
)
"""Tokens that mark a place in a list, a version or one call."""
_KEY_ACTIONS = re.compile(
    rb"--?(?:recv|receive|install|search|delete|edit|import|export|trusted|send|sign|lsign|list)-key"
)
"""Options that take the fingerprint of a key."""
_NAMES_ONE = re.compile(rb"(?:\A|[_.-])(?i:ids?|arns?|identifiers?)\Z|[a-z](?:I[dD]s?|Arns?|Identifiers?)\Z")
"""The end of a name whose value identifies a key or a secret: `KmsKeyId`, `--key-id`, `SecretArn`."""
_PROVING = re.compile(
    rb"pass(?:w(?:or)?d|phrase|code|wrd)|pwd|[_-]p(?:ass|w)|pass\Z|secret|token|credential|bearer|api[_ -]?key"
    rb"|accesskey|oauth|authorization|connection|kennwort|passwort|[a-z_-]key|auth\Z|psk\Z|bindpw"
)
"""Names of credentials: a random value behind one is certainly a secret. A bare `key`, `sig` or `pin` is not enough."""
_OPTION = re.compile(rb"(?:\A|\s)--?[a-z][\w-]*\Z")
_BEFORE_NAME_CHARS = 16
"""Characters before a name that may belong to it (`primary_`, `X-Shopify-Access-`)."""
_COMMANDS = re2.compile(
    rb"(?i:identified (?:with [a-z0-9_]{2,30} )?by)\s{1,3}[\"'\\]{0,2}"
    rb"|(?i:securestring)\s{1,3}(?:-[A-Za-z]{2,12}\s{1,3}){0,4}[\"'\\]{0,2}"
    rb"|(?:\s-u|--user|--proxy-user)[ =]{1,3}[\"']?[A-Za-z0-9_.@-]{1,64}:"
    rb"|(?i:basic|bearer|ntlm|digest|token)\s{1,2}[\"']?"
    rb"|(?i:/token/|/apikey/|/secret/)"
)
_FIND_COMMAND = searcher(_COMMANDS)
_USERINFO = re.compile(
    rb"://(?<=[a-zA-Z0-9+.-]://)(?:[^\s/@:?#\"'<>]{0,128}:([^\s/@\"'<>]{3,256})|([^\s/@:?#\"'<>]{20,256}))@"
)


def find_named_secrets(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entity SECRET over the values, not their names, in folded offsets. Raises BudgetExceeded."""
    text = view.folded
    namings, at = _Namings(text, budget), 0
    while True:
        start, at = _FIND_NAME(text, at)
        if start < 0:
            break
        budget.spend(8)
        name_end = at
        assigned = _ASSIGNED.match(text, at)
        if assigned is None:
            name = _ANY_NAME.match(text, start + 1)  # RE2 may have matched a name that began a character earlier
            assigned = _ASSIGNED.match(text, name.end()) if name else None
            if name is None or assigned is None:
                continue
            name_end = name.end()
        at = end = assigned.end()
        quote = quote_before(text, end)
        value = value_at(text, end, quote)
        if value is None or _is_part_of_name(text, start, end, value):
            continue
        naming = namings.of(start, name_end, assigned, quote)
        if naming is None:
            continue
        # a value behind a weak name is also tested for randomness, which costs more
        budget.spend(7 + len(value) // 5 if naming.strong else 12 + len(value) // 3)
        size, certain = judge_secret(value, text[end + len(value) : end + len(value) + 1], naming)
        if size:
            yield Finding(end, end + size, "SECRET", certain)
    yield from _find_after_commands(text, budget)
    if b"://" in text and b"@" in text:
        yield from _find_in_urls(text, budget)


def has_names(text: bytes) -> bool:
    """Whether the folded text has a name or a command that makes what follows it a secret."""
    return _NAMED.search(text) is not None or _COMMANDS.search(text) is not None


def _is_part_of_name(text: bytes, start: int, end: int, value: bytes) -> bool:
    """Whether `name:value` is a member of a class (`SignKeyJob::start`), a name within a resource's name
    (`arn:aws:secretsmanager:…:secret:name-3QNDmM`), or the verdict and the name of a test (`PASS: ld/pr18801a`)."""
    if text[end - 1 : end] == b":" and (
        value[:1] == b":" or (text[start - 1 : start] == b":" and _RESOURCE.search(text, max(0, start - 100), start))
    ):
        return True
    return text.startswith(b"PASS: ", end - 6) and not text[end - 7 : end - 6].strip() and b"/" in value


_RESOURCE = re.compile(rb"\b[au]rn:[\w:/.-]{0,100}\Z")


class _Namings:
    """What the names of one text say. Names come again in lists and settings, so that answers are remembered."""

    def __init__(self, text: bytes, budget: WorkBudget) -> None:
        self._text, self._budget = text, budget
        self._namings: dict[tuple[bytes, bytes, int, bytes], Naming | None] = {}

    def of(self, start: int, end: int, assigned: re.Match[bytes], quote: bytes) -> Naming | None:
        """What the name at [start, end) says of the value behind `assigned`; None when it names nothing."""
        name, rest, link = self._text[start:end], assigned.group(1) or b"", assigned.lastindex or 0
        if link < _FIRST_OWNING_LINK or name.endswith(_OWNED_NAMES):
            # what precedes the name counts too
            name = self._text[max(0, start - _BEFORE_NAME_CHARS) : end]
            if link >= _FIRST_OWNING_LINK and name[-1:] in b"nN":
                name = name[
                    len(name.rstrip(_WORD_CHARS)) :
                ]  # the words alone: `SERVICE_17_TOKEN` comes with any number
        key = name, rest, link, quote
        naming = self._namings.get(key)
        if naming is None and key not in self._namings:
            self._budget.spend(20)
            naming = self._namings[key] = _naming(name, self._text[start:end], rest, (_LINKS[link], quote))
        return naming


def _naming(before: bytes, name: bytes, rest: bytes, link_and_quote: tuple[Link, bytes]) -> Naming | None:
    """`before` is the name with what precedes it, `rest` what follows it up to the assignment."""
    link, quote = link_and_quote
    lower, before = name.lower(), before.lower()
    if before.endswith(_PUBLIC_KEYS):
        return None
    if link == "beside":
        if b"." in rest and not rest.strip(b"._-"):
            return None  # the end of a sentence
        if lower.endswith(b"pass") and not rest and not lower.startswith((b"-", b"_")):
            return None  # the verb, or a directive such as `proxyPass`
        if (quote and quote != b"`" and name.strip().isupper()) or _OPTION.search(before):
            link = "said"  # SQL: PASSWORD 'x', or an option: --token x
    strong = _IS_STRONG.match(name) is not None and not (name.endswith(b"PASS") and name[:1] not in (b"_", b"-"))
    about = rest != b"" and (_SAYS_ABOUT.search(rest.lower()) is not None or _NAMES_ONE.search(rest) is not None)
    if about:
        if link != "assigned" or lower.endswith(b"pin"):
            return None
        strong = False
    proves = (
        not about
        and _PROVING.search(lower + rest.lower()) is not None
        and not (lower.endswith((b"key", b"sig")) and _NOT_SECRET_KEYS.search(before, 0, len(before) - 3))
        and not (lower.endswith(b"token") and _NOT_SECRET_TOKENS.search(before))
        and not (lower.endswith(b"key") and _KEY_ACTIONS.search(before))
    )
    return Naming(strong, proves, link, quote)


_FIRST_OWNING_LINK = 2
"""The index in _LINKS from which on the name owns the value."""
_WORD_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_- "
_OWNED_NAMES = (b"key", b"Key", b"KEY", b"sig", b"Sig", b"token", b"Token", b"TOKEN")
_PUBLIC_KEYS = (b"public key", b"public_key", b"public-key", b"publickey", b"pubkey", b"pub_key", b"pub-key")


def _find_after_commands(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    for start, end in spans(_FIND_COMMAND, text):
        budget.spend(6)
        quote = quote_before(text, end)
        value = value_at(text, end, quote)
        if value is None:
            continue
        budget.spend(10 + len(value) // 4)
        naming = _naming_of_command(text, start, quote)
        size, certain = judge_secret(value, text[end + len(value) : end + len(value) + 1], naming)
        if size and not is_published_basic(value):
            yield Finding(end, end + size, "SECRET", certain)


def _naming_of_command(text: bytes, start: int, quote: bytes) -> Naming:
    """SQL in capitals, options and headers own what follows them; `identified by x` and `token x` in prose do not."""
    mark = text[start : start + 1]
    strong = mark in (b" ", b"-", b"i", b"I", b"s", b"S")
    if mark == b"i":
        link: Link = "beside"
    elif strong or mark == b"/" or b"uthorization" in text[max(0, start - 24) : start]:
        link = "assigned"
    else:
        link = "assigned" if quote and quote != b"`" else "beside"
    proves = _NOT_SECRET_TOKENS.search(text[max(0, start - _BEFORE_NAME_CHARS) : start + 5].lower()) is None
    return Naming(strong, proves, link, quote)


def _find_in_urls(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """Passwords, and long user names (tokens), before the `@` of web addresses."""
    for match in _USERINFO.finditer(text):
        budget.spend(16)
        group = 1 if match.group(1) is not None else 2
        password, user = match.group(group), text[match.start() + 3 : match.start(group) - 1].strip(b":")
        lower = password.lower()
        if is_placeholder(lower) or is_password_word(password.partition(b";")[0]) or lower == user.lower():
            continue
        if group == 1 and is_published_login(user, password):
            continue
        certain = len(password) >= _MIN_URL_CHARS and _is_no_word(_ESCAPE.sub(b"-", password))
        yield Finding(match.start(group), match.end(group), "SECRET", certain)


def _is_no_word(password: bytes) -> bool:
    """Whether a password is more than words, or words and a number: the examples of every manual have those."""
    if is_random(password):
        return True
    if password.isalpha() or is_identifier(password) or is_leet_password_word(password):
        return False
    return password != password.lower() or password.translate(None, b"0123456789") != password


_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_MIN_URL_CHARS = 6
"""Chosen: shorter passwords in a web address are mostly examples (`user:pw@`), and only likely. At half `pw1` counts as
certain; at double true passwords of ten characters are only flagged in answers."""
