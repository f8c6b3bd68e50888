"""What the name before a value says of it: whether it names a credential, and by which syntax it owns the value.

A name is read whole: what follows `password` in it (`password_encryption`) may say that the value is something about a
password, what precedes `key` (`public_key`) that it is no secret. The verb "pass" names nothing. `named_secrets` finds
the names, `secret_values` judges the values.
"""

import re

from gateway.sanitize.detectors.name_patterns import STRONG
from gateway.sanitize.detectors.secret_values import Link, Naming
from gateway.sanitize.text import WorkBudget

_LINKS: tuple[Link, ...] = ("beside", "beside", "paired", "assigned", "listed", "said")
"""By the last group of ASSIGNED that matched; the first one is the rest of the name."""
_IS_STRONG = re.compile(STRONG)
_SAYS_ABOUT = re.compile(
    rb"encr|hash|ident|chang|reset|min|max|len|polic|field|input|file|path|type|ur[li]|name|expir|ttl|age|time|valid"
    rb"|algor|format"
    rb"|method|mode|hint|prompt|requir|enabl|list|count|size|start|contain|null|hook|handle|manag|provid|class|form"
    rb"|view"
    rb"|backend|strength|attr|column|source|sha|reverse|match|confirm|repeat|help|label|error|status|stor|lookup"
    rb"|command|cmd|callback|generat|function|option|setting|config|rule|history|rotat|sniff|auth|check|through|thru|widget"
    rb"|uidb|token_|nonce|timestamp"
)
"""Words in the rest of a name that make it the name of something about a password or key."""
_NOT_SECRET_KEYS = re.compile(
    rb"(?:public|pub|primary|foreign|partition|sort|cache|idempotency|host|row|unique|index|map|hash|dict|group"
    rb"|object|lookup"
    rb"|registry|hot|arrow|access|cursor|page|dns|zone|trust|composite|natural|surrogate|bucket|s3|storage|i18n|message"
    rb"|option|config|setting|json|header|cookie|session|query|order|shard|routing|signing|gpg|pgp|ssh|result)[ _-]?\Z"
)
"""Words before a bare `key` or `sig` that say which one it is; its values are no credentials for certain."""
_NOT_SECRET_TOKENS = re.compile(
    rb"(?:next|page|input|output|pagination|continuation|continue|request|idempotency|lock|change|update|sync|delta"
    rb"|cursor|import|client|starting)"
    rb"[ _-]?token"
)
"""Tokens that mark a place in a list, a version or one call."""
_PAGE_TOKENS = re.compile(rb"(?:next|page|pagination|continuation|cursor|starting)[ _-]?token\Z")
"""Tokens that only ask for the next part of a list: without them a caller cannot go on."""
_KEY_ACTIONS = re.compile(
    rb"--?(?:recv|receive|install|search|delete|edit|import|export|trusted|send|sign|lsign|list)-key"
)
"""Options that take the fingerprint of a key."""
_NAMES_ONE = re.compile(rb"(?:\A|[_.-])(?i:ids?|arns?|identifiers?)\Z|[a-z](?:I[dD]s?|Arns?|Identifiers?)\Z")
"""The end of a name whose value identifies a key or a secret: `KmsKeyId`, `--key-id`, `SecretArn`."""
_PROVING = re.compile(
    rb"assw(?:or)?d|pass(?:phrase|code|wrd)|pwd|\W?pw\Z|\x04\x05|\x07-\x02|[_-]p(?:ass|w)|pass\Z|secret|token"
    rb"|credential|bearer|api[_ -]?key|pswd|sifre|mat khau|kata sandi"
    rb"|accesskey|oauth|authorization|connection|kennwort|passwort|auth\Z|psk\Z|bindpw|authtok|mot de passe"
    rb"|contrasena|senha|wachtwoord|haslo|parol|losenord|passord|adgangskode|salasana|jelszo|heslo|lozinka"
    rb"|clave|parola|mdp\Z|\x02\x02\Z"
    rb"|pepper|_salt|[a-z][_-]?key"
    rb"|community|sess(?:ion)?id"
)
"""Names of credentials: a random value behind one is certainly a secret. A bare `key`, `sig` or `pin` is not enough."""
_PROVING_BEFORE = re.compile(
    rb"(?:encrypt(?:ion|or)?|crypt|private|master|secret|account|shared|storage|recovery|unseal|licen[cs]e|product"
    rb"|authenticator"
    rb"|wep|hmac|isakmp"
    rb"|aes)[ ._-]?key\Z|api\.key\Z"
    rb"|(?:shared|secret)[_-]?access[_-]?key\Z|x-(?:amz|goog|oss)-signature\Z|host, signature\Z"
    rb"|[0-9]\.[0-9]{1,3} key\Z|[?&]sig(?:nature)?\Z"
)
"""A `key` or signature that is a credential for certain, by what stands before it."""
_COMPOUND_KEY = re.compile(rb"[a-z0-9][_-]?key\Z")
_OPTION = re.compile(rb"(?:(?:\A|\s)--?|[\s({]:)[a-z][\w-]*\Z")
_BEFORE_NAME_CHARS = 16
"""Characters before a name that may belong to it (`primary_`, `X-Shopify-Access-`)."""
_COMPOUND = re.compile(rb"[A-Za-z0-9]_[A-Za-z0-9_]{0,80}\Z|[a-z][A-Z][A-Za-z0-9]{0,80}\Z")
"""The end of a name that is written as programs and settings write names, so that a value beside it is its own."""
_OWNING_HEAD = re.compile(
    rb"(?:[^\s>#$%]{0,60}[>#$%])?[ \t>#$]{0,16}(?:(?:set|setenv|define|snmp-server|tacacs-server|radius-server|crypto"
    rb"|enable"
    rb"|username"
    rb"|neighbor|ntp|standby|proxy_set_header|requestheader set"
    rb"|ppp|machine"
    rb"|nmcli|mysqladmin|netsh|iwconfig|wg|key)\s.{0,120})?\Z|.{0,120}\b(?:login|user(?: ?name)?"
    rb"|account)[ \t]{1,4}\S{1,64}[ \t]{1,4}\Z"
)
"""A line before a name that is a directive, a command or a login: nothing, a router's or shell's word, `login anna`."""
_HEAD_CHARS = 120
_CALL_BEFORE = re.compile(rb"\w\(\s?(?:[\"'][\w.@-]{0,40}[\"'],\s?){0,4}[\"'][\w.-]{0,40}\Z")
_OPTION_BEFORE = re.compile(rb"[\"']--?[\w-]{0,40}\Z")
_PAIR_BEFORE = re.compile(rb"[(\[]\s?[\"'][\w.-]{0,40}\Z")
_TUPLE_BEFORE = re.compile(rb"\{\s?[a-z0-9_@]{0,40}\Z")
_TUPLE_END = re.compile(rb"[\"'](?:>>)?\s?\}")
"""Erlang's pairs: `{password, "x"}`."""
_PAIR_END = re.compile(rb"[\"']\s?[)\]]")
_OWNED_BY = re.compile(
    rb"(?i:encrypt(?:ion|or)?|crypt|secret|credentials?|jwt|pagerduty\w{0,16})[\"']?\s{0,2}(?:=>"
    rb"|[:=])?\s{0,2}[\[{(]?(?:\s{0,3}[\"'][A-Z"
    rb"a-z]{1,16}[\"']\s?[:=]>?\s?[\"'][\w.-]{1,24}[\"'],){0,2}\s{0,16}(?:- )?"
    rb"[\"']?(?:routing_|service_|[sS]igning_?)?[kK]?\Z"
)
"""The mapping whose only `key` follows: `encryption:` above `key: x`, `'crypt' => ['key' => 'x']`."""
_FALLBACK = re.compile(rb"(?i:secret|token|passw(?:or)?d|api_?key)[\w\"')\]]{0,12}\s{0,8}(?:\|\||\?\?|\?:|or\s)")
"""A variable with a credential's name, whose default the value is: `key = env.JWT_SECRET ?? "x"`."""
_ENDS_STRONG = re.compile(rb"(?i:passw(?:or)?d|passphrase|secret)\Z")
_LINE_END = re.compile(rb"[\"']?;?[ \t]{0,8}(?:[\r\n]|\Z)")
_ENDING_IN_PASS = re.compile(
    rb"(?<![a-z])(?:by|com|encom|sur|tres|under|over|multi|low|high|band|all|im|re|un|out)pass\Z"
)
"""Words, and what circuits do: no passwords."""


class Namings:
    """What the names of one text say. Names come again in lists and settings, so that answers are remembered."""

    def __init__(self, text: bytes, budget: WorkBudget) -> None:
        self._text, self._budget = text, budget
        self._namings: dict[tuple[bytes, bytes, Link, bytes], Naming | None] = {}

    def of(self, start: int, end: int, assigned: re.Match[bytes], quoted_value: tuple[bytes, bytes]) -> Naming | None:
        """What the name at [start, end) says of the value behind `assigned`; None when it names nothing.

        `quoted_value` is the quotation mark before the value, and the value.
        """
        name, rest, link = self._text[start:end], assigned.group(1) or b"", _LINKS[assigned.lastindex or 0]
        quote, value = quoted_value
        value_end = assigned.end() + len(value)
        is_beside = link == "beside" and self._owns(start, assigned.end(1), value_end)
        if is_beside or (link == "listed" and self._is_pair(start, value_end)):
            link = "paired"
        if assigned.lastindex in _BESIDE or name.endswith(_OWNED_NAMES):
            # what precedes the name counts too
            name = self._text[max(0, start - _BEFORE_NAME_CHARS) : end]
            if link != "beside" and name[-1:] in b"nN":
                # the words alone: `SERVICE_17_TOKEN` comes with any number
                name = name[len(name.rstrip(_WORD_CHARS)) :]
        key = name, rest, link, quote
        naming = self._namings.get(key)
        if naming is None and key not in self._namings:
            self._budget.spend(20)
            naming = self._namings[key] = _naming(name, self._text[start:end], rest, (link, quote))
        if naming is not None and not naming.proves and link == "assigned" and name[-3:].lower() == b"key":
            self._budget.spend(4)
            owner = _OWNED_BY.search(self._text, max(0, start - _HEAD_CHARS // 2), start + 1)
            if not rest and (owner or _FALLBACK.search(assigned.group())):
                return naming._replace(proves=True)
        return naming

    def _is_pair(self, start: int, value_end: int) -> bool:
        """Whether a name and the string behind its comma are a pair: `define("PASSWORD", "x")`, `("token", "x")`,
        `["--password", "x"]`."""
        low = max(0, start - _HEAD_CHARS // 2)
        if _CALL_BEFORE.search(self._text, low, start + 1) or _OPTION_BEFORE.search(self._text, low, start + 1):
            return True
        if _TUPLE_END.match(self._text, value_end) and _TUPLE_BEFORE.search(self._text, low, start + 1):
            return True
        closed = _PAIR_END.match(self._text, value_end) is not None
        return closed and _PAIR_BEFORE.search(self._text, low, start + 1) is not None

    def _owns(self, start: int, name_end: int, value_end: int) -> bool:
        """Whether the name owns the value with which it has only blanks in between."""
        self._budget.spend(6)
        low = max(0, start - _HEAD_CHARS)
        if _COMPOUND.search(self._text, max(0, start - _BEFORE_NAME_CHARS), name_end):
            return True
        head = self._text[max(low, self._text.rfind(b"\n", low, start + 1) + 1) : start + 1]
        if head[-1:].isalnum():
            head = head[:-1].rstrip(_WORD_CHARS[:-1])
        match = _OWNING_HEAD.match(head)
        if self._text[start:name_end].endswith(b"community"):
            return True
        return match is not None and (head.strip() != b"" or _LINE_END.match(self._text, value_end) is not None)


def _naming(before: bytes, name: bytes, rest: bytes, link_and_quote: tuple[Link, bytes]) -> Naming | None:
    """`before` is the name with what precedes it, `rest` what follows it up to the assignment."""
    link, quote = link_and_quote
    lower, before = name.lower(), before.lower()
    if before.endswith(_PUBLIC_KEYS) or (lower.endswith(b"pass") and not rest and _ENDING_IN_PASS.search(before)):
        return None
    if lower.endswith(b"token") and not rest and _PAGE_TOKENS.search(before):
        return None
    if link in ("beside", "paired"):
        if b"." in rest and not rest.strip(b"._-"):
            return None  # the end of a sentence
        # requirepass x, -storepass x
        is_directive = name.endswith(b"pass") and (link == "paired" or _OPTION.search(before) is not None)
        if lower.endswith(b"pass") and not rest and not lower.startswith((b"-", b"_")) and not is_directive:
            return None  # the verb, or a directive such as `proxyPass`
        if (quote and quote != b"`" and name.strip().isupper()) or _OPTION.search(before):
            link = "said"  # SQL: PASSWORD 'x', or an option: --token x
    strong = _IS_STRONG.match(name) is not None and not (
        name[-5:].strip(b"\"'`( \t\n") == b"PASS" and name[:1] not in _JOINED and not rest.startswith(_PASS_GOES_ON)
    )
    ends_strong = _ENDS_STRONG.search(rest) is not None
    strong = strong or ends_strong
    if link == "beside" and strong and quote in _STRING_MARKS:
        link = "paired"  # using password "x", (defvar my-password "x")
    about = (
        rest != b""
        and not ends_strong
        and (_SAYS_ABOUT.search(rest.lower()) is not None or _NAMES_ONE.search(rest) is not None)
    )
    if about:
        if link != "assigned" or lower.endswith(b"pin"):
            return None
        strong = False
    proves = not about and _proves(before, lower, rest)
    return Naming(strong, proves, link, quote)


def _proves(before: bytes, lower: bytes, rest: bytes) -> bool:
    """Whether a random value behind the name is certainly a secret."""
    if not rest and _PROVING_BEFORE.search(before):
        return True
    return bool(
        (_PROVING.search(lower + rest.lower()) or (_COMPOUND_KEY.search(before) and rest not in (b"s", b"S")))
        and not (lower.endswith((b"key", b"sig")) and _NOT_SECRET_KEYS.search(before, 0, len(before) - 3))
        and not (lower.endswith(b"token") and _NOT_SECRET_TOKENS.search(before))
        and not (lower.endswith(b"key") and _KEY_ACTIONS.search(before))
    )


_JOINED = (b"_", b"-")
_STRING_MARKS = (b'"', b"'")
_PASS_GOES_ON = (b"WORD", b"WD", b"PHRASE", b"CODE")
"""What makes more of the verb or verdict `PASS`, with which the names of `"PASSWORD"` begin."""
_BESIDE = (None, 1)
"""The last groups of ASSIGNED when only blanks are between a name and its value."""
_WORD_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_- "
_OWNED_NAMES = (b"key", b"Key", b"KEY", b"sig", b"Sig", b"token", b"Token", b"TOKEN", b"signature", b"Signature")
_PUBLIC_KEYS = (b"public key", b"public_key", b"public-key", b"publickey", b"pubkey", b"pub_key", b"pub-key")


def is_mark_of_place(text: bytes, start: int) -> bool:
    """Whether the word `token` at `start` is one that marks a place in a list, a version or one call."""
    return _NOT_SECRET_TOKENS.search(text[max(0, start - _BEFORE_NAME_CHARS) : start + 5].lower()) is not None
