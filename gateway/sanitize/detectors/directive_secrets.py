"""Finds secrets that a directive, a command's output or an address of a driver holds without a name beside them.

`syntax_secrets` finds the beginnings. The forms are those of the programs' manuals (Redis ACL, Kickstart, Bundler,
Hardhat, Go's MySQL driver, the consoles of clouds), read 2026-11-22.
"""

import re
from collections.abc import Iterator

from gateway.sanitize.detectors.secret_spans import judged, line_start, secret_at
from gateway.sanitize.detectors.secret_values import Naming, is_placeholder, quote_before
from gateway.sanitize.detectors.value_forms import has_high_entropy, is_identifier
from gateway.sanitize.text import Finding, WorkBudget

_OWNED = Naming(strong=True, proves=True, link="assigned", quote=b"")
DIRECTIVES = (
    rb"(?i:acl setuser) |\nuser |sudo -S|(?:^|[\n\"])rootpw |insecure-password |\bBUNDLE_[A-Z]|accounts[\"']?:\s?\["
    rb"|SecureString[\"'],|\"keyName\"|(?i:config set (?:requirepass|masterauth)) |Accessor ?ID|chpasswd:"
    rb"|kubeadm join |\n[ ]{0,4}d-i |\"random_password\""
    rb"|enable secret |(?:authentication|digest)-key [0-9]|-psk ascii |(?:radius|tacacs)-server "
    rb"|snmp community |community (?:read|write) |irreversible-cipher "
    rb"|user-name [\"'\w]|Key Content  |option key [\"']|: (?:EAP|XAUTH|RSA|ECDSA|P12|PIN) |-pass(?:in|out)? pass:[\"']"
    rb"|[\n\t ]PASSWORD [a-z]|(?i:passw(?:or)?d|pwd)\"=hex|<<< ?[\"'\w]|<\((?:echo|printf) |[nN]ew (?:one|value): "
    rb"|security import "
)
"""RE2 pattern of the first words of directives; `_REST_OF_DIRECTIVE` has what leads to the secret. Kept apart, as one
pattern of both has too many states for RE2."""
PRINTED = (
    rb"argocd admin initial-password|aws ecr get-login-password|gcloud auth (?:application-default )?print-"
    rb"|g(?:h|lab) auth token|oc whoami -|(?:kubectl|oc) create token|vault print token|heroku auth:token|wg genkey"
    rb"|\| ?base64 -|secretsmanager get-secret-value|keyvault secret show|gcloud secrets versions access|\bop read "
    rb"|bw get p|security find-generic-password|create-enrollment-token"
    rb"|\bpass show |(?:terraform|tofu) output -raw [a-z0-9_]*(?:passw|secret|token|key)"
)
"""RE2 pattern of commands that print a secret alone on the next line."""
_REST_OF_DIRECTIVE = re.compile(
    rb"(?i:acl setuser) [^\s]{1,64} (?:[^\s>]{1,40} ){0,4}>|\nuser [^\s]{1,64} (?:on|off) (?:[^\s>]{1,40} ){0,4}>"
    rb"|sudo -S[^\n<]{0,80}<<< ?[\"']?"
    rb"|[\n\"]?rootpw (?:--[a-z-]{5,14} ){0,3}"
    rb"|insecure-password "
    rb"|BUNDLE_[A-Z0-9_]{2,60}[:=] ?[\"']?[A-Za-z0-9_.-]{1,60}:"
    rb"|accounts[\"']?:\s?\[\s{0,12}[\"'](?:0x)?"
    rb"|SecureString[\"'],\s{0,24}[\"']Value[\"']\s?:\s?[\"']"
    rb"|\"keyName\"\s?:\s?\"[^\"\n]{1,40}\",(?:\s{0,24}\"[a-z"
    rb"A-Z]{1,24}\"\s?:\s?\"[A-Z]{0,24}\",){0,3}\s{0,24}\"value\"\s?:\s?\""
    rb"|(?i:config set (?:requirepass|masterauth)) [\"']?"
    rb"|Accessor ?ID[ \t]{0,8}[=:][ \t]{0,3}[^\s]{8,40}\s{1,4}Secret ?ID[ \t]{0,8}[=:][ \t]{0,3}"
    rb"|\n[ ]{0,4}d-i [\w/.-]{0,60}passw[\w/-]{0,30} password "
    rb"|chpasswd:\s{1,6}(?:expire:[^\n]{1,12}\s{1,6})?list:\s?\|?\s{1,8}[\w.-]{1,32}:"
    rb"|enable secret (?:level [0-9]{1,2} )?(?:[0-9] )?"
    rb"|-psk ascii (?:[0-9] )?|(?:radius|tacacs)-server (?:host [^\s]{1,60} )?key (?:[0-9] )?"
    rb"|(?:authentication|digest)-key [0-9]{1,5} (?i:md5|sha1?|sha-?256|hmac-[a-z0-9-]{3,12}) (?:[0-9] )?"
    rb"|snmp community [\"']?|community (?:read|write) (?:cipher |simple )?|irreversible-cipher "
    rb"|user-name [\"']?[\w.-]{1,40}[\"']? plaintext [\"']?|Key Content {1,20}: |option key [\"']"
    rb"|: (?:EAP|XAUTH|RSA|ECDSA|P12|PIN) (?:[\w./-]{1,80} )?\"|-pass(?:in|out)? pass:[\"']"
    rb"|security import [^\s]{1,80} (?:-[kf] [^\s]{1,80} )?-P [\"']?|[\n\t ]PASSWORD [a-z_]{2,32} = "
    rb"|[nN]ew (?:one|value): "
)
_HERE = re.compile(rb"(?:<<< ?|<\((?:echo|printf) (?:-[ne]{1,2} )?)([\"']?)([^\s\"'()]{6,160})")
"""A word that the shell hands to a program as its input or as a file."""
_HEX_ROW = re.compile(rb"[A-Za-z]{3,8}\"=hex(?:\([0-9]{1,2}\))?:([0-9A-Fa-f]{2}(?:,[0-9A-Fa-f]{2}){7,64})")
"""The bytes of a password in an export of Windows' registry."""
_SECRET_HEAD = re.compile(rb"(?i:secret|passw|token|credential|env add|(?:api|preshared|private)-?_?key)[^\n]{0,200}\Z")
_SPOKEN_HEAD = re.compile(rb"(?i:passw(?:or)?t?d?|kennwort)\b[^\n:]{1,80}[.\n ]\Z")
_JOIN = re.compile(rb"kubeadm join [^\n]{1,80}?--token ([a-z0-9]{6}\.[a-z0-9]{16})(?![a-z0-9])")
"""The form of Kubernetes' bootstrap tokens, which looks like a dotted name."""
_DRAWN_PASSWORD = b'"random_password"'
_RESULT = re.compile(rb"\"result\"\s{0,3}:\s{0,3}\"([^\"\n]{8,128})\"")
_RESULT_CHARS = 1_200
"""Chosen: how far behind its type a resource of Terraform's state has its result: the attributes of a `random_password`
are 700 characters long when each has a line. At half those with keepers are cut; at double each mention costs more."""
_SECRET_LINE = re.compile(rb"(?i:secret|passw|token|credential)[^\n]{0,200}\Z")
_SPOKEN_CHARS = 120
"""Chosen: how far before `New value:` the sentence that speaks of a password may begin. At half a sentence with a
user's name is cut; at double other sentences count."""
DRIVERS = rb"@(?:tcp6?|unix|udp)\("
"""RE2 pattern of what follows the password in an address of Go's MySQL driver: `root:…@tcp(`."""
_NEXT_LINE = re.compile(rb"[^\n]{0,200}\n {0,2}([^\s]{12,2048})[ \t\r]{0,8}(?:\n|\Z)")
_LOGIN = re.compile(rb"[A-Za-z0-9_.-]{1,64}:([^\s:/\"'`]{4,128})")
_MAX_LOGIN_CHARS = 200
"""Chosen: how far a user and password reach back from `@tcp(`. At half long passwords are cut; at double nothing more
is found."""


def find_behind(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The secret right behind the directive that begins at `start`. Raises BudgetExceeded."""
    budget.spend(6)
    joining = _JOIN.match(text, start)
    if joining is not None:
        yield Finding(*joining.span(1), "SECRET")
    if text.startswith(_DRAWN_PASSWORD, start):
        yield from _drawn_passwords(text, start, budget)
        return
    if text[start : start + 1] == b"<" or text[end - 4 : end] == b"=hex":
        yield from _handed_over(text, start, budget)
        return
    directive = _REST_OF_DIRECTIVE.match(text, start)
    if directive is None:
        return
    end = directive.end()
    if text[start + 1 : start + 4] == b"ew " and not _SPOKEN_HEAD.search(text, max(0, start - _SPOKEN_CHARS), start):
        return
    finding = secret_at(text, end, _OWNED._replace(quote=quote_before(text, end)), budget)
    if finding is not None:
        yield finding


def _handed_over(text: bytes, start: int, budget: WorkBudget) -> Iterator[Finding]:
    """The word that a shell hands to a command about secrets, or the bytes of a password in a registry's export."""
    budget.spend(8)
    row = _HEX_ROW.match(text, start)
    if row is not None:
        yield Finding(*row.span(1), "SECRET")
        return
    word = _HERE.match(text, start)
    if word is not None and _SECRET_HEAD.search(text, line_start(text, start), start):
        finding = judged(
            text, word.start(2), word.group(2), _OWNED._replace(link="paired", quote=word.group(1)), budget
        )
        if finding is not None:
            yield finding


def _drawn_passwords(text: bytes, start: int, budget: WorkBudget) -> Iterator[Finding]:
    """The results of the resources of type `random_password` in Terraform's state, one for each instance."""
    budget.spend(8)
    at, high = start + len(_DRAWN_PASSWORD), start + _RESULT_CHARS
    following = text.find(b'"type"', at, high)
    high = following if following >= 0 else high
    while (at := text.find(b'"result"', at, high)) >= 0:
        budget.spend(8)
        result = _RESULT.match(text, at)
        at += 8
        if result is not None and not is_placeholder(result.group(1).lower()):
            yield Finding(*result.span(1), "SECRET")


def find_printed(text: bytes, start: int, end: int, budget: WorkBudget) -> Iterator[Finding]:
    """The random word that is all of the line below a command. Raises BudgetExceeded."""
    budget.spend(8)
    line = _NEXT_LINE.match(text, end)
    is_decoded = text[start : start + 1] == b"|"
    if line is None or (is_decoded and not _SECRET_LINE.search(text, line_start(text, start), start)):
        return
    budget.spend(len(line.group(1)) // 8)
    value = line.group(1)
    if len(value) > 160 and has_high_entropy(value[:160]) and not is_identifier(value[:160]):
        yield Finding(*line.span(1), "SECRET")
        return
    finding = judged(text, line.start(1), value, _OWNED, budget)
    if finding is not None:
        yield finding


def find_before(text: bytes, start: int, _: int, budget: WorkBudget) -> Iterator[Finding]:
    """The password of `user:password` right before a driver's network at `start`. Raises BudgetExceeded."""
    budget.spend(8)
    low = max(0, start - _MAX_LOGIN_CHARS)
    colon = text.rfind(b":", low, start)
    user = len(text[low:colon].rstrip(_USER_CHARS)) + low if colon >= 0 else colon
    login = _LOGIN.fullmatch(text, user, start) if 0 <= user < colon else None
    if login is not None:
        finding = judged(text, login.start(1), login.group(1), _OWNED, budget)
        if finding is not None:
            yield finding


_USER_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
