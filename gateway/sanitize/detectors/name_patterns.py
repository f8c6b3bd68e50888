"""The patterns of credentials' names, and of what leads from a name to its value: an assignment, a phrase, a tag.

`named_secrets` searches with them; `secret_names` says what a name means.
"""

import re

import re2

STRONG = (
    rb"(?i:p?assw(?:or)?ds?|passphrase|passcode|psswor?ds?|passwrd|pswd|parola(?: d'ordine)?|clave|tlspsk|userpwd"
    rb"|passin|kennwort|passwort|mot de passe"
    rb"|contrasena|senha|wachtwoord|haslo|parol|losenord(?:et)?|passord(?:et)?|adgangskoden?|salasana|jelszo"
    rb"|heslo|lozinka|sifre(?:niz|m|si)?|mat khau|kata sandi(?:nya)?"
    rb"|(?:wlan|wi-?fi|netzwerk|geheim|zugangs)-?schlussel|(?:verification|one[ -]time|log-?in|sign-?in"
    rb"|security) code)|[n\x02]apo\x02\x02"
    rb"|\x04\x05|\x06\x02\x07-\x02"
    rb"|(?:^|[^A-Za-z])(?i:pass|pwd?|pin|psk|mdp)|(?i:bindpw|psksecret|authtok|(?:ro|rw|-server )community)"
    rb"|[a-z](?:Pass|Pwd|Pw|pass\b)"
    rb"|[_-](?i:pwd?|pass)|(?:SSH|SMTP|FTP|LDAP|DB|ROOT|USER|ADMIN)PASS"
)
_WEAK = (
    rb"(?i:secret|token|credentials?|bearer|api[_ -]?key|accesskey|authorization|oauth|signature"
    rb"|connection[_ -]?string|[jp](?:hp)?sess(?:ion)?id|sessionid|pepper|mnemonic|(?:seed|recovery|backup) phrase)"
    rb"|(?:^|[^A-Za-z])(?i:auth|sig|key|pkey|license)|[a-z](?:Key|Sig|Auth)|[A-Z_-](?:KEY|key)|_SALT|(?:ro|rw"
    rb"|-server )community"
)
NAMES = STRONG + rb"|" + _WEAK
"""RE2 pattern of the names that make what follows a secret."""
_FOR_USER = (
    rb"(?: #?\d{1,2}(?=:)|(?i: for (?!(?:the|our|this|that|my|your|its|all|an?) )(?:key |user |host )?[\"'`]?(?:https?://|[~/]{1,2})?[\w.%/-]{1,40}[\"'`]?(?:@[\"'`]?[\w.%-]{1,60}[\"'`]?)?)"
    rb"|(?i: (?:provisoire|temporaire|initiale?|temporal|provisional|provvisoria|provisoria|temporary))(?= ?[:=])"
    rb"|(?i: (?:antigua|nueva|anterior|actual|antiga|nova|vecchia|nuova))(?= e[rs])"
    rb"| (?=\([A-Za-z0-9 /-]{1,20}\)(?:[:=]| is | ist | es | est )| ?\[[\w* .-]{1,24}\]:))"
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
    rb"|[ \t](?:(?i:as)[ \t][A-Za-z.]{2,24}|string|text)[ \t]?=[ \t]?(?=[\"'])"  # Basic, Bicep
    rb"|[ \t]?(?:\.{3,60}[ \t]?:|\.{6,60})[ \t]{1,4}"  # a form: Password ....... : x
    rb"|[ \t]{0,20}(?:=>|->|<{1,2}-|(?:[:?+]|::|\|\||\?\?)?={1,3}|:(?::(?=[ \t]))?)"
    rb"(?:\*\*|__|\*(?=[ \t]))?(?:[ \t]{4,40}|\s{0,4})(?:[&!]{1,2}[\w.-]{1,40}[ \t])?"
    rb"(?:[A-Za-z_$][\w.$()\[\]\"']{0,80}+\s{0,8}(?:\|\||\?\?|\?:|or )\s{0,8}(?=[\"'`]))?"  # = env.TOKEN || "x"
    rb"|%3[dDaA]"
)
_ARGUMENT = rb"(?<=[A-Z]),\s{0,2}(?=[\"'])"  # setopt(PASSWORD, "x")
_ELEMENT = (
    rb"(?: [A-Za-z:]{1,20}=\"[^\"<>\n]{0,100}\"){0,3}>(?:(?=[^\s<>]{4,160}</)"
    rb"|<!\[CDATA\[(?=[^\s<>]{4,160}>?</))"
    rb"|&gt;(?=[^\s<>]{4,160}&lt;/)|\\{1,7}u003[eE](?=[^\s<>]{4,160}\\u003[cC]/)"
)  # <password>x</password>, also as other HTML and as JSON quote it
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
    rb"\((?:\w{2,16}+[ ]?=[ ]?)?(?=[\"'`])"  # key = []byte("x"), key: str = field(default="x")
    rb"|[ \t]{1,8}\|[ \t]{1,8}"  # a row of a table
    rb"|[ \t]{1,3}(?:[0-9]|ENC|encrypted|ascii-text|plain-text|cleartext|ascii|hexadecimal|sha512|cipher)[ \t]{1,3}"
    rb"|[\"')\s:]{0,6}(?i:send(?:line)?)[ (]{1,2}(?:--? )?"  # expect "assword:", send "x"
    rb"|(?:,(?: (?:here|this|is|it|the|new|one)){2,5}|(?: [a-z\x02@]{1,16})(?: [A-Z]?[a-z\x02@]{1,16}){0,5}):"
    rb"\s{1,5}(?=[!-~]{8,160}(?:\s|\Z))"
    rb"|(?i: (?:of|for|to|on|at|in|from|von|vom|fur|am|im|beim|zum|de|du|en|del|nel|al|para|per|do|da|no|na"
    rb"|op|van|voor)(?: [\w.@'-]{1,24}){1,5}? (?:is|was|ist|lautet|est"
    rb"|es|e|jest|to|war|era)):?[ \t]{1,3}"
    rb"|(?<=\x02)(?: [a-z\x02]{1,16}){1,4} - (?=[!-~]{8,160}(?:[\s,]|\Z))"
)
_LISTED = rb"\s{0,2},\s{0,16}(?=(?:<<)?[\"'])"
_SAID = (
    rb"[ \t]{1,3}(?i:(?:(?:has|have) been |is |was )?(?:re)?(?:set|changed) to"
    rb"|is now|is|was|by|=|ist|lautet|war|est|etait|es|e|era|er|ar|jest|to|:)"
    rb"(?:[ \t]?:)?[ \t]{1,3}|(?<=alasana)[ \t]on[ \t]|(?<=eslo)[ \t]je[ \t]|(?<=arola)[ \t]este[ \t]"
    rb"|(?<=khau)[ \t]la[ \t]|[ \t]e\x02vai[ \t]|[ \t]?\x02{1,3}[: \t\x03]{0,3}(?=[!-~])"
)
NAMED = re2.compile(NAMES)
ANY_NAME = re.compile(NAMES)
ASSIGNED = re.compile(
    _SUFFIX
    + _CLOSE
    + b"(?:"
    + b"|".join(b"(" + link + b")" for link in (_PAIRED, b"|".join((_ASSIGN, _ARGUMENT, _ELEMENT)), _LISTED, _SAID))
    + rb"|(?:'s)?[ \t]{1,20}(?:(?:(?i:from|used to be|von)|--?|\x03|b\x02\x02[ao]?)[ \t]{1,3})?)"
    + _OPEN
)
"""What leads from a name to its value. Not one pattern with the names, as that has too many states for RE2."""
PROSE = re.compile(
    rb"s? (?!(?:is|was|has|have|by|ist|lautet|est|etait|es|e|era|er|ar|jest|war|used to be"
    rb"|antigua|nueva|anterior|actual|antiga|nova|vecchia|nuova|to|of|for|on|at|in|from|von|vom|fur|am|im|beim"
    rb"|zum|de|du|en|del|nel|al|no|na|op|van|voor|para|per|do"
    rb"|da|je|la|este|(?:re)?set"
    rb"|(?:re)?changed|send|sendline|value|val|content|encrypted|ascii|plain|cleartext|hexadecimal|sha"
    rb"|temporary|temporal"
    rb"|provisional|temporaire|provisoire|provvisoria|provisoria|initiale?)\b)"
    rb"[a-z]{2,14}+(?=[\s,;)]|\.\s)(?!(?: [A-Z]?[a-z\x02@]{1,16}){0,5}:)"
)
"""Words of a sentence behind a name (`the key changes when …`), to none of which ASSIGNED leads as to a value: found
sooner."""
