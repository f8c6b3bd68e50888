"""Style sheets that may cost their reader time: rows of `hostile_functions`."""

from bench.hostile_pages import nested, numbered, said
from gateway.engines.html.css import declared
from gateway.engines.html.css_rules import RuleReader


def rules(sheet: str) -> int:
    """Reads all rules of one sheet and their declarations."""
    return sum(len(declared(rule.body)) for rule in RuleReader().read(sheet))


SHEETS = {
    "rules": numbered(".k#{display:none;--a#:1}"),
    "long selector": said("a b>", "", "c{display:none}"),
    "long list": said(".a,", "", ".b{display:none}"),
    "open blocks": said("a{display:none;"),
    "open braces": said("{"),
    "closed blocks": said("}"),
    "long body without an end": said("display:none;", "a{"),
    "body with an escape at its end": said("display:none;", "a{", "\\} b{color:red}"),
    "escapes": said("a\\{b{c\\}d:e}"),
    "semicolons": said("a;"),
    "statements": said("@import x;"),
    "blanks": said(" ", "", "@"),
    "comments": said("/**/a{/*}*/display:none}"),
    "open comments": said("/*"),
    "strings": said("a{b:\"}\";c:'{'}"),
    "open strings": said("\"'\n"),
    "addresses": said("a{background:url(x) UrL( "),
    "nested rules": nested("a{b:c;", "}"),
    "nested media": nested("@media all{", "}", "a{display:none}"),
    "media between rules": said("@media all{a{display:none}b{c:d}}e{f:g}"),
    "layers": numbered("@layer a#.b.c{d{display:none}}"),
    "states": numbered(".m#:hover .k,.t:checked~.k#{display:block}"),
    "animations": numbered("@keyframes k#{0%{opacity:0}to{opacity:1}}.k#{opacity:0;animation:k# 1s forwards}"),
    "frames without an end": said("0%{a:b}", "@keyframes k{"),
    "mixed colours": said("color-mix(in srgb,", "a{color:"),
    "values": numbered("a{width:calc(#px + 1px);margin:#px 0}"),
}
