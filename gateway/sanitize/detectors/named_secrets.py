"""Finds values that the name beside them makes a secret: `password: …`, `api_key = …`, `user:pass@host`.

This module finds names, says what they mean, and goes from them to values; `value_forms` judges the values. `syntax`
finds those that other syntax than a name makes secrets.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

import re2

from gateway.sanitize.detectors.harmless import is_published_login
from gateway.sanitize.detectors.tables import either
from gateway.sanitize.detectors.value_forms import (
    MAX_VALUE_CHARS,
    Link,
    Naming,
    is_identifier,
    is_password_word,
    is_placeholder,
    judge_secret,
    judge_whole,
)
from gateway.sanitize.detectors.value_spans import element_end, quotation_end, quote_before, value_at
from gateway.sanitize.findings import Finding
from gateway.sanitize.folding import View
from gateway.sanitize.re2_search import searcher
from gateway.sanitize.work_budget import WorkBudget

# ----------------------------------------------------------------------------------------------------
# The patterns of credentials' names, and of what leads from a name to its value: an assignment, a phrase, a tag.
STRONG = either("password")
NAMES = STRONG + rb"|" + either("credential")
"""RE2 pattern of the names that make what follows a secret."""
_FOR_USER = (
    rb"(?: #?\d{1,2}(?=:)|(?i: for (?!(?:the|our|this|that|my|your|its|all|an?) )(?:key |user |host )?[\"'`]?(?:https?://|[~/]{1,2})?[\w.%/-]{1,40}[\"'`]?(?:@[\"'`]?[\w.%-]{1,60}[\"'`]?)?)"
    rb"|(?i: (?:provisoire|temporaire|initiale?|temporal|provisional|provvisoria|provisoria|temporary))(?= ?[:=])"
    rb"|(?i: (?:antigua|nueva|anterior|actual|antiga|nova|vecchia|nuova))(?= e[rs])"
    rb"| (?=\([A-Za-z0-9 /-]{1,20}\)(?: ?[:=]| is | ist | es | est )| ?\[[\w* .-]{1,24}\]:))"
)
_SUFFIX = (
    rb"(?=((?!\.\.)[_.0-9A-Z-][A-Za-z0-9_.-]{0,24}(?<!-(?=>))|s|))\1(?:,[a-z]{2,12}|" + _FOR_USER + rb")?"
)  # fmt: skip
_CLOSE = rb"(?:\\{0,7}[\"'`]\]?|\\u0022|&quot;|\)|\]|\([A-Za-z0-9 /-]{0,20}\)|\[[\w* .-]{1,24}\](?=:)|\*\*|__)?"
_LONG_STRING = (
    rb"\"{3}\s{0,16}|'{3}\s{0,16}"  # Python, Java, Kotlin
    rb"|\[={0,3}\[|b?r#{1,3}\"|\{[a-z]{0,4}\||<<\""  # Lua, Rust, OCaml, Erlang
    rb"|(?:%[qQwW]?|~[sS]|qq?)[(\[{<|/!]"  # Ruby, Elixir, Perl
    rb"|<<[<~-]?[\"']?[A-Z]{2,12}[\"']?[\w.()]{0,20}[ \t;]{0,4}\r?\n[ \t]{0,16}"  # documents in shell, PHP, Ruby
    rb"|\\verb[|!+]|[\"']\{\{ ?[\"']"  # a template's expression
)
"""How string literals begin that are no quotation by one mark."""
_OPEN = (
    rb"(?:\(\s{0,16}|string\([0-9]{1,4}\) )?(?:[NbBrRuUfF@]{1,2}(?=[\"']))?(?:" + _LONG_STRING + rb"|\\u0022"
    rb"|\\{0,7}[\"'`](?:\\\r?\n[ \t]{0,16})?|&quot;|(?:<(?:b|strong|code|span|em|i|kbd|tt)(?: [^<>\n]{1,60})?>){1,2})?"
)
_ASSIGN = (
    rb"\s{0,3}:\s?(?:&(?:'static )?)?[A-Za-z][\w.]{0,24}[\]?*>]{0,2}\s{0,2}=\s{0,3}(?=[\"'`@])"
    rb"|::?[ \t]?[>|][0-9+-]{0,2} {0,2}\n[ \t]{1,16}"
    rb"|[ \t](?:(?i:as)[ \t][A-Za-z.]{2,24}|[a-z][a-z0-9]{2,11})[ \t]?=[ \t]?(?=[\"'`])"  # Basic, Bicep, Go
    rb"|[\"'][ \t]{1,4}(?i:value)=(?=[\"'])|[ \t]{1,3}-[ \t]{1,3}(?=[\"'`])"  # key="password" value="x"; token - "x"
    rb"|[ \t]?(?:\.{3,60}[ \t]?:|\.{6,60})[ \t]{1,4}"  # a form: Password ....... : x
    rb"|[ \t]{0,20}(?:=>|->|<{1,2}-|(?:[?+.]|:{1,3}|\|\||\?\?)?={1,3}|:(?::(?=[ \t]))?)"
    rb"(?:\*\*|__|\*(?=[ \t]))?(?:[ \t]{4,40}|\s{0,3}\n[ \t]{2,16}|\s{0,4})(?:[&!]{1,2}[\w.-]{1,40}[ \t])?"
    rb"(?:(?<!==)[A-Za-z_$][\w.$()\[\]\"']{0,80}+\s{0,8}(?:\|\||\?\?|\?:|or )\s{0,8}(?=[\"'`]))?"  # = env.TOKEN || "x"
    rb"|%3[dDaA]"
)
_ARGUMENT = rb"(?<=[A-Z]),\s{0,2}(?=[\"'])"  # setopt(PASSWORD, "x")
_NEXT_LINE = rb"(?<=[A-Z])[\"']?\n[ \t]{1,16}value:[ \t]{1,4}"  # - name: API_TOKEN, and its value below
_ELEMENT = (
    rb"(?<![\"'])(?: [A-Za-z:]{1,20}=\"[^\"<>\n]{0,100}\"){0,3}>"
    rb"(?:\s{0,20}(?=[^\s<>][^<>]{3,512}</)|<!\[CDATA\[(?=[^\n]{4,160}?\]\]>))"
    rb"|&gt;(?=[^\s<>]{4,160}&lt;/)"
)  # <password>x</password>, also as other HTML quotes it
_PAIRED = (
    rb"[\"']?\s{0,3}[:=]\s{0,3}\{\s{0,20}(?:[\"']?\w{1,20}+[\"']?\s?[:=]\s?[\"']?[\w./-]{0,40}+[\"']?,?\s{1,20}+){0,4}[\"']?(?i:value|default|plain(?:text)?|content)[\"']?\s{0,3}[:=]\s{0,3}"
    rb"|\)?\s{0,4}(?:\|\||\?\?|\?:|or)\s{1,4}(?=[\"'`])"  # env.TOKEN ?? "x", get("TOKEN") or "x"
    rb"|[ \t]{1,3}--?(?i:(?:secret-|string-)?(?:value|string)|body)(?:=|[ \t]{1,3})"  # --name db-pass --value x
    rb"|:[ \t]?\n(?:[ \t]{1,16}[A-Za-z]{2,20}:[ \t][^\n]{0,80}\n){0,4}[ \t]{1,16}(?i:default|value):[ \t]{1,4}"
    rb"|[\"']?\s{0,20}(?:,\s{0,40})?[\"']?(?i:value|val|content)[\"']?\s{0,3}[:=]\s{0,3}"  # name: PASSWORD, value: x
    rb"|[ \t]?(?:=>|[:=])\s?[\[(]\s{0,20}(?=[\"'])|:[ \t]?\n[ \t]{0,16}-[ \t]{1,3}"  # keys: ["x", "y"]
    rb"|</(?:[kK]ey|name|stringProp|param-name)>\s{0,20}"
    rb"<(?:string|data|[vV]alue|stringProp|param-value)(?: [^<>\n]{1,60})?>"
    rb"|[ \t]{1,8}REG_(?:EXPAND_)?SZ[ \t]{1,8}|[\"']\n\s{0,4}[0-9]{1,3}\) (?=[\"'])"  # exports of registries, Redis
    rb"|:[ \t][a-z]{2,14}[ \t](?=[!-~]{8,160}(?:[\s,]|\Z))"  # Passwords: staging x
    rb"|:?[ \t]?</(?:t[hd]|dt|b|strong|em|label|span|code)>:?\s{0,20}(?:<[a-z]{1,8}(?: [^<>]{1,60})?>\s{0,8}){0,2}"
    rb"|>\s{0,20}<(?i:value|string)>"
    rb"|\s?\{\s{1,12}(?:[a-z_]{2,16}[ \t]{0,6}=[^\n]{0,120}\n[ \t]{0,12}){0,3}default[ \t]{0,6}=[ \t]{0,3}"
    rb"|[({]\s?(?=[\"'])"  # setPassword("x"), password{"x"}
    rb"|[ \t]{0,20}(?:(?::[ ]?[A-Za-z][\w.\[\]]{0,24}+\s{0,2})?=|:=|=>|[:,])\s{0,3}(?:new )?[A-Za-z\[][\w.:\[\]]{0,40}+"
    rb"\((?:[\"'][\w.-]{1,60}[\"'],[ ]?)?(?:\w{2,16}+[ ]?=[ ]?)?(?=[\"'`])"  # []byte("x"), str = field(default="x")
    rb"|[ \t]{0,8}\|[ \t]{0,8}"  # a row of a table
    rb"|[ \t]{1,3}(?:[0-9]|ENC|encrypted|ascii-text|plain-text|cleartext|ascii|hexadecimal|sha512|cipher)[ \t]{1,3}"
    rb"|[\"')\s:]{0,6}(?i:send(?:line)?)[ (]{1,2}(?:--? )?"  # expect "assword:", send "x"
    rb"|(?! (?:is|was|ist|lautet|est|es|e|jest|to|war|era):)"
    rb"(?:,(?: (?:here|this|is|it|the|new|one)){2,5}|(?: [a-z\x02@]{1,16})(?: [A-Z]?[a-z\x02@]{1,16}){0,5}):"
    rb"\s{1,5}(?=[!-~]{8,160}(?:\s|\Z))"
    rb"|(?i:(?: [\w.@'-]{1,24}){1,8}?,? (?:is|was|used to be|ist|lautet|est|es|e|jest|to|war|era|as|it's|c'est)):?"
    rb"[ \t]{1,3}"
    rb"|(?i:(?: [\w.@'-]{1,24}){0,8}? (?:is|was|be|ist|est|es|e|war|era)) [a-z]{3,10} (?=[!-~]{6,160}(?:\s|\Z))"
    rb"|(?:(?: [\w'-]{1,16}){1,7}, |,? (?:it's|c'est) )(?=[A-Z][!-~]{6,160}(?:\s|\Z))"
    rb"|(?<=\x02)(?: [a-z\x02]{1,16}){1,4} - (?=[!-~]{8,160}(?:[\s,]|\Z))"
)
_LISTED = rb"\s{0,2},\s{0,16}(?=(?:<<)?[\"'])"
_SAID = (
    rb"[ \t]{1,3}(?i:(?:(?:has|have) been |is |was )?(?:re)?(?:set|changed) to"
    rb"|(?:is|ist|est|es|e) (?:now|still|jetzt|nun|maintenant|ahora|adesso|agora)"
    rb"|is|was|by|=|ist|lautet|war|est|etait|es|e|era|er|ar|jest|to|:)"
    rb"(?:[ \t]?:)?[ \t]{1,3}|(?<=alasana)[ \t]on[ \t]|(?<=eslo)[ \t]je[ \t]|(?<=arola)[ \t]este[ \t]"
    rb"|(?<=khau)[ \t]la[ \t]|[ \t]e\x02vai[ \t]|[ \t]?\x02{1,3}[: \t\x03]{0,3}(?=[!-~])"
)
NAMED = re2.compile(NAMES)
ANY_NAME = re.compile(NAMES)
ASSIGNED = re.compile(
    _SUFFIX
    + _CLOSE
    + b"(?:"
    + b"|".join(
        b"(" + link + b")" for link in (_NEXT_LINE, _PAIRED, b"|".join((_ASSIGN, _ARGUMENT, _ELEMENT)), _LISTED, _SAID)
    )
    + rb"|(?:'s)?[ \t]{1,20}(?:(?:(?i:from|used to be|von)|--?|\x03|b\x02\x02[ao]?)[ \t]{1,3})?)"
    + _OPEN
)
"""What leads from a name to its value. Not one pattern with the names, as that has too many states for RE2."""


# ----------------------------------------------------------------------------------------------------
# What the name before a value says of it: whether it names a credential, and by which syntax it owns the value.
#
# A name is read whole: what follows `password` in it (`password_encryption`) may say that the value is something
# about a password, what precedes `key` (`public_key`) that it is no secret. The verb "pass" names nothing.
_LINKS: tuple[Link, ...] = ("beside", "beside", "assigned", "paired", "assigned", "listed", "said")
"""By the last group of ASSIGNED that matched; the first one is the rest of the name."""
_IS_STRONG = re.compile(STRONG)
_SAYS_ABOUT = re.compile(either("about"))
_NOT_SECRET_KEYS = re.compile(rb"(?:" + either("other key") + rb")[ _-]?\Z")
_PAGE_TOKENS = re.compile(rb"(?:" + either("page") + rb")[ _-]?token\Z")
_NOT_SECRET_TOKENS = re.compile(rb"(?:" + either("page") + rb"|" + either("other token") + rb")[ _-]?token")
_KEY_ACTIONS = re.compile(rb"--?(?:" + either("key option") + rb")-key")
_NAMES_ONE = re.compile(rb"(?:\A|[_.-])(?i:ids?|arns?|identifiers?)\Z|[a-z](?:I[dD]s?|Arns?|Identifiers?)\Z")
"""The end of a name whose value identifies a key or a secret: `KmsKeyId`, `--key-id`, `SecretArn`."""
_PROVING, _NOT_PROVING = re.compile(either("proving")), re.compile(either("unproving"))
_PROVING_BEFORE = re.compile(either("proving key"))
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
_PAIR_BEFORE = re.compile(rb"[(\[{]\s?(?:[\"'][\w.@-]{0,40}[\"'],\s?){0,4}[\"']?[\w.@-]{0,40}\Z")
"""A call, tuple or list whose strings a name and its value are: `define("AUTH_KEY", "x")`, `{password, "x"}`."""
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
_ENDING_IN_PASS = re.compile(rb"(?<![a-z])(?:" + either("no pass") + rb")pass\Z")


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
        low = max(0, start - _HEAD_CHARS // 2)
        if is_beside or (link == "listed" and _PAIR_BEFORE.search(self._text, low, start + 1)):
            link = "paired"
        if _VERB.fullmatch(name) and assigned.group().strip(b" \t`\"'") == b"to":
            return None  # pass to x, pin to x
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
    if lower.endswith(b"pass") and rest.lower().startswith((b"ing", b"ed")):
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
    proves = not about and _proves(before, lower, rest, strong)
    return Naming(strong, proves, link, quote)


def _proves(before: bytes, lower: bytes, rest: bytes, strong: bool) -> bool:
    """Whether a random value behind the name is certainly a secret."""
    if (not rest and _PROVING_BEFORE.search(before)) or (strong and not _NOT_PROVING.search(lower)):
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
_VERB = re.compile(rb"\W?(?i:pass|pin)")
_BESIDE = (None, 1)
"""The last groups of ASSIGNED when only blanks are between a name and its value."""
_WORD_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_- "
_OWNED_NAMES = tuple(b"pass key Key KEY sig Sig token Token TOKEN signature Signature".split())
_PUBLIC_KEYS = (b"public key", b"public_key", b"public-key", b"publickey", b"pubkey", b"pub_key", b"pub-key")


# ----------------------------------------------------------------------------------------------------
# How far the secret at a place reaches: a word, a quotation, a quotation with blanks, groups, or a word of any
# length.
#
# `value_forms` judges one value; here it is found in the text and becomes a finding.
_GROUPS = re.compile(rb"[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,15}(?![A-Za-z0-9])")
"""A key in base32 as authenticator programs show it (RFC 4648; groups of four for reading)."""
_MAX_LINE_CHARS = 512
"""How much of a line belongs to a syntax. Longer headers and records hold more than one credential only in
lists of cookies, which have a bound of their own."""
_REST = re.compile(rb"[A-Za-z0-9+/=_.%~-]{1,2048}")


def line_end(text: bytes, at: int, most: int = _MAX_LINE_CHARS) -> int:
    """Where the line with `at` ends, at most `most` characters on."""
    end = text.find(b"\n", at, at + most)
    return end if end >= 0 else min(len(text), at + most)


def judged(text: bytes, at: int, value: bytes, naming: Naming, budget: WorkBudget) -> Finding | None:
    """`value` at `at` as a finding, with all of a longer word; None when it is no secret."""
    after = text[at + len(value) : at + len(value) + 1]
    # a value behind a weak name is also tested for randomness, which costs more
    budget.spend(26 + len(value) // 2 if naming.strong else 44 + len(value) // 2)
    size, certain = judge_secret(value, after, naming)
    if not size:
        return grouped_key(text, at, naming)
    end = at + size
    if size >= MAX_VALUE_CHARS:
        rest = _REST.match(text, end)
        end = rest.end() if rest else end
        budget.spend((end - at) // 16)
    return Finding(at, end, "SECRET", certain)


def grouped_key(text: bytes, at: int, naming: Naming) -> Finding | None:
    """A key in groups, where its name owns the value."""
    groups = _GROUPS.match(text, at) if naming.owns and naming.proves else None
    return None if groups is None or groups.group().isalpha() else Finding(at, groups.end(), "SECRET")


FIND_NAME = searcher(NAMED)
_NOTHING: Mapping[int, int] = {}
_CHANGED = (b'" -> "', b"' -> '", b'" => "', b"' => '")
_SENTENCE_GOES_ON = frozenset((b" ", b",", b";", b".", b"'", b'"', b"`", b")"))
_NEXT_WORDS = re.compile(
    rb"[\"'`)]?[,;.]?(?: (?!is |ist |es )[A-Za-z\x02][a-z\x02]{0,13}(?=[ :'])){1,7}"
    rb"(?:'s| is| ist| es| est| e|:| -| =| to)? "
    rb"[\"'`]?(?=[!-~]{8,160}(?:[\s,]|\Z))"
)
"""What leads from a password to another one in its sentence: `… and the new one is`, `, prod`, `to`."""
_MAX_IN_SENTENCE = 4
"""Further passwords of one sentence."""
_PAIRED_NAMED_SECRETS = Naming(strong=True, proves=True, link="paired", quote=b"")
_CHANGED_CHARS = 6
"""Length of the arrow, with its quotation marks, between the old and the new value in plans of Terraform and Pulumi."""
_WORD_GOES_ON = frozenset(bytes([code]) for code in b"abcdefghijklmnopqrtuvwxyz")
"""Behind a name: the letters of a longer word (`keyboard`), to which ASSIGNED leads never; `s` may be a plural."""
_USERINFO = re.compile(
    rb"://(?<=[a-zA-Z0-9+.-]://)(?:[^\s/:?#\"'<>@.]{0,64}:"
    rb"((?![0-9]{1,5}[/?#])(?:(?:(?!://)[^\s?#\"'<>]){3,256}|(?:(?!://)[^\s@\"'<>]){3,256}))"
    rb"|[^\s/:?#\"'<>]{0,128}:((?![0-9]{1,5}[?#])[^\s/\"'<>]{3,256})|([^\s/@:?#\"'<>]{20,256}))@(?=[\w\[(])"
)
"""A password reaches to the last `@` before a query, and may hold a slash where its user is a plain word."""


def find_named_secrets(view: View, budget: WorkBudget, known: Mapping[int, int] = _NOTHING) -> Iterator[Finding]:
    """Findings of the entity SECRET over the values, not their names, in folded offsets. Raises BudgetExceeded.

    `known`: [start, end) of values that are secrets for certain, whatever their name says; they are not judged again,
    which costs more than to find them.
    """
    text = view.folded
    namings, at = Namings(text, budget), 0
    while True:
        start, at = FIND_NAME(text, at)
        if start < 0:
            break
        name_end = at
        if _PROSE.match(text, at) is not None and _IS_STRONG.match(text, start) is None:
            budget.spend(6)
            continue
        budget.spend(20)
        before = _before_name(text, start, budget)
        if before is not None:
            yield before
        assigned = None if _goes_on(text, at) else ASSIGNED.match(text, at)
        if assigned is None:
            name = ANY_NAME.match(text, start + 1)  # RE2 may have matched a name that began a character earlier
            is_word = name is None or _goes_on(text, name.end())
            assigned = None if name is None or is_word else ASSIGNED.match(text, name.end())
            if name is None or assigned is None:
                at -= text.startswith(b"pass", at)  # the next name may begin with this one's last letter: `keypass`
                continue
            start, name_end = start + 1, name.end()
        at = end = assigned.end()
        quote = quote_before(text, end)
        is_member = _is_member(text[assigned.end(1) : end], quote)
        whole_end = quotation_end(view, end, quote) if is_member else element_end(text, start, end)
        if whole_end > end and known.get(end) is None and not _is_part_of_name(text, start, end, b""):
            whole = text[end:whole_end]
            naming = namings.of(start, name_end, assigned, (quote, whole))
            finding = None if naming is None else _whole_value(end, whole, naming, budget)
            if finding is not None and naming is not None:
                yield finding
                yield from _behind(view, finding.end, naming, quote, budget)
                at = finding.end
                continue
        value = value_at(view, end, quote)
        if value is None:
            plain = _PLAIN_VALUE.match(text, end)
            if plain is not None and _is_setting((text, start, assigned.end(1)), end, plain.end(), quote):
                naming = namings.of(start, name_end, assigned, (quote, plain.group()))
                finding = _setting_value(text, (end, plain.group()), naming, budget)
                if finding is not None:
                    yield finding
                    at = finding.end
                    continue
            if not (text[end + 4 : end + 5] in (b" ", b"-") and text[end : end + 2].isupper()):
                at = name_end  # the words between may be a name: `secret key is x`
                continue
            value = b""
        elif known.get(end) == end + len(value) or _is_part_of_name(text, start, end, value):
            continue
        naming = namings.of(start, name_end, assigned, (quote, value))
        if naming is None:
            continue
        if value and naming.is_assigned and _is_setting((text, start, assigned.end(1)), end, end + len(value), quote):
            finding = judged(text, end, value, naming, budget) or _setting_value(text, (end, value), naming, budget)
            if finding is not None:
                yield finding
                yield from _behind(view, finding.end, naming, quote, budget)
            continue
        finding = judged(text, end, value, naming, budget) if value else grouped_key(text, end, naming)
        if finding is not None:
            yield finding
            yield from _behind(view, finding.end, naming, quote, budget)
    if b"://" in text and b"@" in text:
        yield from _find_in_urls(text, budget)


def _is_member(between: bytes, quote: bytes) -> bool:
    """Whether a name has a quoted value with nothing but a colon, equals sign or the word for it between them, as
    members of objects, settings and sentences have."""
    return quote in (*_STRING_MARKS, b"`") and between.translate(None, b"\"'` \t\r\n") in _MEMBER_SIGNS


_MEMBER_SIGNS = frozenset((b":", b"=", b":=", b"is", b"was", b"is:", b"ist", b"est", b"es"))


def _whole_value(at: int, value: bytes, naming: Naming, budget: WorkBudget) -> Finding | None:
    """A member's value at `at` as a finding: all of it is a secret, or none."""
    budget.spend(14 + len(value) // 2)
    is_secret, certain = judge_whole(value, naming)
    return Finding(at, at + len(value), "SECRET", certain) if is_secret else None


@lru_cache(4096)
def naming_of(name: str) -> Naming | None:
    """What the name of a decoded document's member says of its value; None when it names no secret."""
    view, budget = View(f'"{name}": "'), WorkBudget(len(name))
    text, namings, at = view.folded, Namings(view.folded, budget), 0
    while (found := ANY_NAME.search(text, at)) is not None:
        assigned = None if _goes_on(text, found.end()) else ASSIGNED.match(text, found.end())
        if assigned is not None and assigned.end() == len(text):
            naming = namings.of(found.start(), found.end(), assigned, (b'"', b""))
            if naming is not None:
                return naming
        at = found.start() + 1
    return None


def is_password_name(name: str) -> bool:
    """Whether a member's name is that of a password: its value may be a number."""
    naming = naming_of(name) if len(name) <= _MAX_NAME_CHARS else None
    return naming is not None and naming.strong and naming.proves


def find_member(name: str, value: str) -> Finding | None:
    """The whole value of a decoded document's member, where its name makes a secret of it.

    ("password", 'zQ7"w9 Kqz, 7mB4')  ->  [0, 16)
    """
    naming = naming_of(name) if len(name) <= _MAX_NAME_CHARS and "::" not in name else None
    if naming is None or len(value) > _MAX_MEMBER_CHARS or "\n" in value.strip():
        return None
    is_secret, certain = judge_whole(View(value).folded, naming)
    return Finding(0, len(value), "SECRET", certain) if is_secret else None


_MAX_NAME_CHARS, _MAX_MEMBER_CHARS = 80, 512
"""Longer values are texts, which are scanned as such."""
_PROSE = re.compile(
    rb"s? (?!(?:is|was|has|have|by|to|ist|est|es|e|send|value|val|content|for|of)\b)[a-z]{2,14}+(?=[,;)]|\.\s|\s(?!=))"
)
"""A sentence that goes on behind a key or token (`the key changes when`), which leads to no value: found sooner."""
_BEFORE_CHARS = 160
_BEFORE_NAME = re.compile(
    rb"(?:\A|[\s\"'`(])([^\s\"'`]{6,64})[\"'`]?"
    rb"(?: [a-z]{2,8})?(?i: (?:is|was|as|ist|war|als|est|comme|es|como|e|era|come|jest|to|jako|is als))"
    rb"(?: [A-Za-z\x02]{1,12}){0,4}[ _]?\Z"
)
"""`X is my new ` before the name: the words for being and for one's own in the languages of the names."""


def _before_name(text: bytes, start: int, budget: WorkBudget) -> Finding | None:
    """The value that a sentence names behind it: `Hunter22! is my password`, `log in with X as the password`."""
    if text[start - 1 : start] not in (b" ", b"_") and text[start : start + 1] != b" ":
        return None
    if _IS_STRONG.match(text, start) is None:
        return None
    budget.spend(2)
    name_at = start + (text[start : start + 1] == b" ")
    word = text[max(0, name_at - 14) : name_at - 1].rpartition(b" ")
    if not word[1] or not word[2].isalpha():
        return None  # a list of settings, not a sentence
    budget.spend(6)
    name = ANY_NAME.match(text, name_at)
    if name is None or _goes_on(text, name.end()):
        return None  # `is passed to`
    before = _BEFORE_NAME.search(text, max(0, start - _BEFORE_CHARS), name_at)
    if before is None:
        return None
    return judged(text, before.start(1), before.group(1), _PAIRED_NAMED_SECRETS, budget)


def _is_setting(name: tuple[bytes, int, int], at: int, end: int, quote: bytes) -> bool:
    """Whether the value at [at, end) is all that a setting, an option or a line `Password: x` holds.

    `name`: the text, and where the secret's name begins and ends. Code assigns variables, so that an unquoted word
    counts only without blanks around its `=`, or as the rest of its line behind a colon.
    """
    text, start, name_end = name
    if not quote and text[at - 1 : at] in (b" ", b"\t") and b"=" in text[name_end:at]:
        return False
    head = _SETTING_HEAD.search(text, max(0, start - 48), name_end)
    sign = text[name_end:at]
    if head is None or b"(" in sign or b"," in sign:
        return False
    after = text[end : end + 1]
    if quote:
        return after == quote and sign.rstrip(b" \"'").endswith((b" is", b" was"))
    if b"=" in sign:
        return not sign.strip(b"=\"'") and sign.count(b"=") == 1 and after in _SETTING_ENDS
    is_line = _LINE_HEAD.search(text, max(0, start - 48), name_end) is not None
    return (
        sign.rstrip(b" \t*_").endswith(b":")
        and b"\n" not in sign
        and is_line
        and _LINE_REST.match(text, end) is not None
    )


_PLAIN_VALUE = re.compile(rb"[A-Za-z][\w.!?@#$%&*+^~-]{3,100}(?<![.!?])")
_SETTING_HEAD = re.compile(rb"(?:\A|[\s\"'`?&;/{\[]|--?)[A-Za-z0-9_.-]*+[^A-Za-z0-9]?[A-Za-z]*\Z")
_SETTING_ENDS = frozenset((b"", b" ", b"\n", b"\r", b"\t", b'"', b"'", b"&", b";", b"`"))
_LINE_HEAD = re.compile(
    rb"(?:\A|\n)[ \t>*#-]{0,12}[\"'*_]{0,2}(?:[A-Za-z0-9_.-]+ ){0,3}[A-Za-z0-9_.-]*[^A-Za-z0-9]?[A-Za-z]*\Z"
)
_ENV_HEAD = re.compile(rb"[A-Z0-9_]{4,60}=[\"']?\Z")
_LINE_REST = re.compile(rb"[*_\"'`.]{0,2}[ \t\r]{0,64}+(?:\n|\Z)")


def _setting_value(text: bytes, place: tuple[int, bytes], naming: Naming | None, budget: WorkBudget) -> Finding | None:
    """The value of a setting with a password's name, whatever it looks like; likely only."""
    at, value = place
    if naming is None or not naming.is_assigned:
        return None
    if not naming.strong and not (naming.proves and _ENV_HEAD.search(text, max(0, at - 64), at)):
        return None
    finding = judged(text, at, value, naming._replace(any_word=True), budget)
    return None if finding is None else finding._replace(certain=False)


def _behind(view: View, at: int, naming: Naming, quote: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """The values that follow one that ends at `at` by the same name: in its sentence, or behind the arrow of a plan."""
    text = view.folded
    if naming.strong and text[at : at + 1] in _SENTENCE_GOES_ON:
        yield from _in_same_sentence(view, at, budget)
    if text.startswith(_CHANGED, at):
        changed = at + _CHANGED_CHARS
        following = value_at(view, changed, quote)
        finding = judged(text, changed, following, naming, budget) if following else None
        if finding is not None:
            yield finding


def _in_same_sentence(view: View, at: int, budget: WorkBudget) -> Iterator[Finding]:
    """The passwords behind one that ends at `at`: `the old password was X and the new one is Y`."""
    text = view.folded
    for _ in range(_MAX_IN_SENTENCE):
        budget.spend(20)
        words = _NEXT_WORDS.match(text, at)
        if words is None:
            return
        quote = quote_before(text, words.end())
        value = value_at(view, words.end(), quote)
        finding = (
            judged(text, words.end(), value, _PAIRED_NAMED_SECRETS._replace(quote=quote), budget) if value else None
        )
        if finding is None:
            return
        yield finding
        at = finding.end


def _goes_on(text: bytes, at: int) -> bool:
    """Whether a longer word goes on at `at` (`keyboard`, `passes`), to which ASSIGNED never leads."""
    char = text[at : at + 1]
    return char in _WORD_GOES_ON or (char == b"s" and text[at + 1 : at + 2] in _WORD_GOES_ON)


def _is_part_of_name(text: bytes, start: int, end: int, value: bytes) -> bool:
    """Whether `name:value` is a member of a class (`SignKeyJob::start`), a type (`"AWS::KMS::Key": "x"`), a name
    within a resource's name (`arn:aws:secretsmanager:…:secret:name-3QNDmM`), or the verdict and the name of a test
    (`PASS: ld/pr18801a`)."""
    if b"::" in text[max(0, start - 40) : start] and _TYPE.search(text, max(0, start - 100), start + 1):
        return True
    if text[end - 1 : end] == b":" and (
        value[:1] == b":" or (text[start - 1 : start] == b":" and _RESOURCE.search(text, max(0, start - 100), start))
    ):
        return True
    if not text.startswith(b"PASS: ", end - 6) or text[end - 7 : end - 6].strip():
        return False
    near = text[max(0, end - _VERDICTS_CHARS) : end + _VERDICTS_CHARS]
    return b"/" in value or value.lower().startswith(b"test") or near.count(b"PASS: ") > 1 or b"FAIL: " in near


_VERDICTS_CHARS = 300
"""How near other verdicts stand to one, in the log of a test."""
_TYPE = re.compile(rb"[\"'][A-Za-z0-9]{1,40}::(?:[A-Za-z0-9]{1,40}::){1,3}[A-Za-z0-9]{0,40}\Z")
_RESOURCE = re.compile(rb"\b[au]rn:[\w:/.-]{0,100}\Z")


def _find_in_urls(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """Passwords, and long user names (tokens), before the `@` of web addresses."""
    for match in _USERINFO.finditer(text):
        budget.spend(16)
        group = match.lastindex or 1
        password, user = match.group(group), text[match.start() + 3 : match.start(group) - 1].strip(b":")
        lower = password.lower()
        if is_placeholder(lower) or is_password_word(password.partition(b";")[0]) or lower == user.lower():
            continue
        if is_identifier(password) if group == 3 else is_published_login(user, password):
            continue  # a long name, which is no token
        if len(password) < _MIN_URL_CHARS and _EXAMPLE_HOST.match(text, match.end()):
            continue
        certain = len(password) >= _MIN_URL_CHARS and not is_identifier(_ESCAPE.sub(b"-", password))
        yield Finding(match.start(group), match.end(group), "SECRET", certain)


_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_EXAMPLE_HOST = re.compile(rb"(?:[\w-]{1,63}\.){0,4}example\.(?:com|org|net)\b")  # RFC 2606
_MIN_URL_CHARS = 6
"""Shorter passwords in a web address are mostly examples (`user:pw@`), and only likely."""
