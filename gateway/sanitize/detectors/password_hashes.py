"""Patterns of password hashes, from which passwords can be tried out. Data only; `secret_tokens` searches for them.

Sources: crypt(5) of libxcrypt, the PHC string format, RFC 2307 and RFC 5803 (LDAP), the documentation of Django,
Werkzeug, phpass, Cisco and Juniper; read 2026-11-22. A `$` may be doubled, as Compose files write it.
"""

_B64 = "[A-Za-z0-9+/]"
_CRYPT = "[A-Za-z0-9./]"

HASHES: tuple[tuple[str, str], ...] = (
    ("crypt MD5", rf"\$(?:1|apr1)\$\$?{_CRYPT}{{1,8}}\$\$?{_CRYPT}{{22}}"),
    ("crypt SHA-256", rf"\$5\$\$?(?:rounds=\d{{1,9}}\$)?{_CRYPT}{{1,16}}\$\$?{_CRYPT}{{43}}"),
    ("crypt SHA-512", rf"\$6\$\$?(?:rounds=\d{{1,9}}\$)?{_CRYPT}{{1,16}}\$\$?{_CRYPT}{{86}}"),
    ("bcrypt", rf"\$2[abxy]?\$\$?\d\d\$\$?{_CRYPT}{{53}}"),
    ("yescrypt", rf"\$g?y\${_CRYPT}{{2,16}}\${_CRYPT}{{1,86}}\${_CRYPT}{{43}}"),
    ("scrypt", rf"\$7\${_CRYPT}{{11,97}}\${_CRYPT}{{43}}"),
    ("PHC", r"\$(?:argon2(?:id|i|d)|scrypt|pbkdf2(?:-sha\d+)?"
        r"|bcrypt-sha256)\$[a-zA-Z0-9=,$-]{1,60}\$[A-Za-z0-9+/.]{6,128}\$[A-Za-z0-9+/.]{16,256}"),
    ("crypt SHA-1", rf"\$sha1\$\d{{1,9}}\${_CRYPT}{{1,64}}\${_CRYPT}{{28}}"),
    ("phpass", rf"\$[PH]\${_CRYPT}{{31}}"),
    ("Drupal", rf"\$S\${_CRYPT}{{52}}"),
    ("Cisco 8 and 9", rf"\$[89]\${_CRYPT}{{14}}\${_CRYPT}{{43}}"),
    ("Juniper", r"\$9\$[A-Za-z0-9./-]{20,120}"),
    ("Mosquitto", rf"\$[67]\$(?:\d{{1,7}}\$)?{_B64}{{12,20}}={{0,2}}\${_B64}{{86}}=="),
    ("Django", rf"(?:pbkdf2_sha(?:1|256|512)|scrypt|argon2)\$[a-zA-Z0-9=,$_+/-]{{1,90}}\${_B64}{{22,88}}={{0,2}}"),
    ("Django bcrypt", rf"bcrypt(?:_sha256)?\$\$2[ab]\$\d\d\${_CRYPT}{{53}}"),
    ("Werkzeug", r"(?:scrypt:\d{1,8}:\d{1,3}:\d{1,3}|pbkdf2:sha(?:1|256"
        r"|512)(?::\d{1,8})?)\$[A-Za-z0-9./]{4,64}\$[a-f0-9]{40,128}"),
    ("SCRAM", rf"SCRAM-SHA-(?:1|256|512)\$\d{{1,8}}:{_B64}{{8,88}}={{0,2}}\${_B64}{{27,88}}={{0,2}}"
        rf":{_B64}{{27,88}}={{0,2}}"),
    ("LDAP", r"\{(?:S?SHA(?:256|384|512)?|SMD5|PBKDF2[A-Z0-9-]{0,8}|ssha(?:256|512)?)\}[A-Za-z0-9+/.$]{24,256}={0,2}"),
)  # fmt: skip
"""(scheme, pattern in the common syntax of `re` and RE2), as the table of vendors."""
