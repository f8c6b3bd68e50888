"""Finds secrets among the words of shell commands: values of options, `user:password`, and words after subcommands.

A table has the commands and the forms of their credentials, which is a matter of each command: `-p` is a password for
one and a port for another. Long options with a credential's name (`--password x`) need no row: see `secret_names`.
"""

import re
from collections.abc import Iterator
from functools import cache

from gateway.sanitize.detectors.secret_spans import judged
from gateway.sanitize.detectors.secret_values import Naming
from gateway.sanitize.text import Finding, WorkBudget

_TABLE = r"""
sshpass                                                             -p
mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mariadb mariadb-dump mariadb-admin mycli   -p+ >password
redis-cli valkey-cli keydb-cli                                      -a
curl                       -u: -su: -sSu: -ku: -sku: -ksu: -Lu: -iu: -vu: -U: --user: --proxy-user: -b;
http https xh                                                       -a:
mongo mongosh mongodump mongorestore mongoimport mongoexport cqlsh clickhouse-client   -p
sqlcmd bcp osql tsql isql                                           -P
sqlplus sqlldr expdp impdp rman                                     /@
psexec.py wmiexec.py smbexec.py secretsdump.py atexec.py dcomexec.py mssqlclient.py   :@
crackmapexec nxc netexec evil-winrm psexec psexec.exe PsExec PsExec.exe PsExec64.exe kinit rdesktop twine   -p
ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldapcompare     -w
ldappasswd                                                          -w -s -a
smbclient rpcclient smbmap net smbget                               -U% >use >user
hdbsql cypher-shell                            -p
snmpwalk snmpget snmpset snmpbulkwalk snmpgetnext snmptable snmptrap   -c -A -X
ipmitool                                                            -P
zip unzip zipcloak                                                  -P
7z 7za 7zr 7zz rar unrar                                            -p+ -hp+
openssl                                                             -k -K
ssh-keygen                                                          -N -P
xfreerdp wfreerdp freerdp mstsc cmdkey schtasks runas               /p: /pass: /password: /rp: /rp
signtool signtool.exe                                               /p
mkstore                                                             >-createCredential >-modifyCredential
ncftpput ncftpget ncftpls                                           -p
lftp ncftp                                                          -u,
mosquitto_pub mosquitto_sub mosquitto_rr                            -P
codecov codecovcli                                                  -t
useradd usermod                                                     -p
htpasswd                                                            >-b >-nb >-bc >-cb >-Bb >-bB >-nbB >-bn
rabbitmqctl                                                         >add_user >change_password >authenticate_user
mc mcli                                                             >set >add
vault                                                               >unseal >login
wpa_passphrase                                                      >
dig nsupdate                                                   -y::
docker podman nerdctl buildah skopeo helm az oc oras cf             login-p login-u:
npm ngrok cargo rclone composer poetry   >authtoken >add-authtoken >login >obscure >config
gh flyctl fly wrangler heroku                                       -b --body
drone woodpecker-cli                                                --data --value
"""
"""By row: commands, then forms. `-p`: the value behind the option, attached or not; `-p+`: only attached; `-u:`,
`-U%`, `-u,`: what follows that sign in it, `-y::` the last colon, `-b;` the `=` of a cookie; `/p:`: the rest of a word;
`/p`: the next word; `/@` and `:@`: between these signs in a word; `>add`: the last word behind the subcommand;
`login-p`: `-p` of `login`.
"""
_FORMS: dict[bytes, tuple[bytes, ...]] = {}
for _row in _TABLE.strip().encode().splitlines():
    _names, _, _forms = _row.partition(b"   ")
    _FORMS |= dict.fromkeys(_names.split(), tuple(_forms.split()))
_NAME = b"|".join(sorted(map(re.escape, _FORMS), reverse=True))
BEGINNINGS = rb"(?:^|[\s`\"'(;|&=/>$:])(?:" + _NAME + rb")(?:[ \t]{1,8}[\w\"'/\\$<.:@{}+-]|[\"'], ?[\"'])"
"""RE2 pattern of a command's name and the first character behind it."""
PIPES = (
    rb"(?:echo|printf)[ \t]{1,4}(?:-[ne]{1,2} )?[\"']?[^\s\"'|]{6,100}[\"']? ?\| ?"
    rb"(?:sudo|passwd|chpasswd|docker|kinit|su|cryptsetup|gpg|podman|gcloud|gh|wrangler|vercel|fly|flyctl|firebase)\b"
)
"""RE2 pattern of words that are piped into a program that reads a password."""
_FIRST_WORD = re.compile(rb"[^A-Za-z0-9]?([A-Za-z0-9][\w.-]{1,20})(?:[\"'],)?(?=[ \t\"'])")
_PIPED = re.compile(rb"(?:echo|printf)[ \t]+(?:-[ne]{1,2} )?[\"']?(?:[\w.-]{1,40}:)?([^\s\"'|]{6,100})")
_READS_PASSWORD = re.compile(
    rb"sudo (?:-\w{1,20} ){0,4}-S|--stdin|chpasswd|--password-stdin|passphrase-fd|kinit|su |cryptsetup"
    rb"|secrets? (?:create|set|put|versions add)|secrets:(?:set|access)|--with-token|env add"
)
_READER_BYTES = 120
"""Rest of the line in which the program is looked for: behind the pipe, some with options before the telling one."""
_MAX_CHARS = 800
"""Chosen: characters of a command that are read. At half long commands over several lines are cut; at double texts of
commands cost more."""
_WORD = re.compile(rb"(?:[^\s\"'|;&<>]{1,200}|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'){1,6}")
_GAP = re.compile(rb"(?:[ \t]|\\\r?\n){1,40}|,[ \t]?(?=[\"'])|(?=[\"'])")
"""Blanks, a continued line, or the comma of a list of arguments: `["redis-cli", "-a", "x"]`."""
_OWNED = Naming(strong=True, proves=True, link="assigned", quote=b"")
_PAIRED = _OWNED._replace(link="paired")
_QUOTES = (b'"', b"'")
_SIGNS = {b";": b"="}
_MIN_CHARS = 4
_SLASHED = re.compile(rb"[\"']?[\w.$-]{1,64}/([^\s@\"']{4,100})(?:@|[\"']?\Z)")
_AT = re.compile(rb"[\"']?(?:[\w.-]{1,64}/)?[\w.$-]{1,64}:([^\s@\"']{4,100})@")


def forms_at(text: bytes, start: int) -> tuple[bytes, ...] | None:
    """The forms of the command whose name begins at `start`, or behind the sign there; None for another word."""
    word = _FIRST_WORD.match(text, start)
    return _FORMS.get(word.group(1)) if word else None


def read_line(text: bytes, start: int, forms: tuple[bytes, ...], budget: WorkBudget) -> tuple[int, Iterator[Finding]]:
    """(where the command that begins at `start` ends, the secrets among its words). Raises BudgetExceeded."""
    line_end = text.find(b"\n", start + 1, start + _MAX_CHARS)
    while line_end > 0 and text[line_end - 1 : line_end] == b"\\":
        line_end = text.find(b"\n", line_end + 1, start + _MAX_CHARS)
    line = text[start + 1 : line_end if line_end > 0 else start + _MAX_CHARS]
    budget.spend(3 + len(line) // 64)
    possible = [form for form in forms if _hint(form) in line]
    if not possible:
        return start, iter(())
    name = _FIRST_WORD.match(text, start)
    words, at = _words(text, name.end() if name else start + 1, budget)
    return at, _secrets(text, words, possible, budget)


@cache
def _hint(form: bytes) -> bytes:
    """What a line with a credential of this form holds."""
    if form.startswith(b"login"):
        return b" login "
    return _form(form)[0] if form[:1] == b"-" else form[:1] if form[1:] == b"@" else form.replace(b">", b" ")


def read_pipe(text: bytes, start: int, budget: WorkBudget) -> Iterator[Finding]:
    """The password that `echo` at `start` writes to a program that reads it."""
    budget.spend(10)
    piped = _PIPED.match(text, start)
    if piped is None:
        return
    line_end = text.find(b"\n", piped.end(), piped.end() + _READER_BYTES)
    if _READS_PASSWORD.search(text, piped.end(), line_end if line_end >= 0 else piped.end() + _READER_BYTES):
        yield from _one(text, piped.span(1), _OWNED, budget)


def _words(text: bytes, at: int, budget: WorkBudget) -> tuple[list[tuple[int, int]], int]:
    """The places of the command's words, and where it ends."""
    words, high = [], at + _MAX_CHARS
    while at < high:
        gap = _GAP.match(text, at)
        word = _WORD.match(text, gap.end()) if gap else None
        if word is None:
            break
        at = word.end()
        if text[word.start() : word.start() + 1] in _QUOTES and text.endswith((b'",', b"',"), 0, at):
            at -= 1  # the comma of a list
        words.append((word.start(), at))
    budget.spend(2 * len(words))
    return words, at


def _secrets(text: bytes, words: list[tuple[int, int]], forms: list[bytes], budget: WorkBudget) -> Iterator[Finding]:
    plain = [text[start:end] for start, end in words]
    plain = [word[1:-1] if word[:1] in _QUOTES and word[-1:] == word[:1] else word for word in plain]
    is_login = any(word == b"login" for word in plain[:3])
    for form in forms:
        if form.startswith(b"login"):
            if not is_login:
                continue
            form = form[5:]
        if form.startswith(b">"):
            last = _last_word(text, words, plain, form[1:])
            if last is not None:
                yield from _one(text, last, _PAIRED, budget)
            continue
        for index, word in enumerate(plain):
            span = _value_of(word, form, words, index)
            if span is not None:
                yield from _one(text, _behind_sign(text, *span, form), _OWNED, budget)


def _value_of(word: bytes, form: bytes, words: list[tuple[int, int]], index: int) -> tuple[int, int] | None:
    """The place of the credential that `word`, or the word behind it, holds by a form of the table."""
    start, end = words[index]
    if form in (b"/@", b":@"):
        match = (_SLASHED if form == b"/@" else _AT).match(word)
        return None if match is None or word.startswith(b"-") else (start + match.start(1), start + match.end(1))
    if form[:1] == b"/":
        if not form.endswith(b":"):
            return words[index + 1] if word.lower() == form and index + 1 < len(words) else None
        return (start + len(form), end) if word.lower().startswith(form) else None
    option, sign = _form(form)
    if not word.startswith(option) or (len(word) > len(option) and word.startswith(b"--")):
        return None
    if len(word) > len(option):
        start += len(option) + (word[len(option) : len(option) + 1] == b"=")
    elif sign == b"+" or index + 1 == len(words):
        return None
    else:
        start, end = words[index + 1]
    return start, end


@cache
def _form(form: bytes) -> tuple[bytes, bytes]:
    """The option, and the sign that says how it holds the credential: see _TABLE."""
    option = form.rstrip(b"+:%,;")
    return option, form[len(option) :]


def _last_word(
    text: bytes, words: list[tuple[int, int]], plain: list[bytes], subcommand: bytes
) -> tuple[int, int] | None:
    """The place of the last word behind `subcommand` that is no option; None when there is none or no subcommand."""
    first = plain.index(subcommand) + 1 if subcommand in plain else None if subcommand else 0
    if first is None:
        return None
    behind = [span for span in words[first:] if text[span[0] : span[0] + 1] not in (b"-", b"/")]
    return behind[-1] if behind else None


def _behind_sign(text: bytes, start: int, end: int, form: bytes) -> tuple[int, int]:
    """What of a value is the credential: all, or what follows the sign of its form. Empty without that sign."""
    sign = _form(form)[1]
    if sign in (b"", b"+") or form[:1] != b"-":
        return start, end
    if text[start : start + 1] in _QUOTES:
        start, end = start + 1, end - 1
    sign_at = text.rfind(b":", start, end) if sign == b"::" else text.find(_SIGNS.get(sign, sign), start, end)
    return (sign_at + 1, end) if sign_at >= 0 else (end, end)


def _one(text: bytes, span: tuple[int, int], naming: Naming, budget: WorkBudget) -> Iterator[Finding]:
    start, end = span
    quote = text[start : start + 1] if text[start : start + 1] in _QUOTES else b""
    if quote:
        start, end = start + 1, end - (text[end - 1 : end] == quote)
    if end - start >= _MIN_CHARS:
        finding = judged(text, start, text[start:end], naming._replace(quote=quote), budget)
        if finding is not None:
            yield finding
