"""Encodings: the standard's order, the standard's labels, and nothing a page could hide in."""

import codecs

import pytest

from gateway.engines.html.encoding import decode, decoded
from tests.support.read_pages import content_of

CZECH = "Příliš žluťoučký kůň"


def html(declaration: str, text: str, codec: str) -> bytes:
    return f"<html><head>{declaration}</head><body>{text}</body></html>".encode(codec)


@pytest.mark.parametrize(
    ("content_type", "body", "shown"),
    [
        ("text/html; charset=windows-1250", html("", CZECH, "cp1250"), CZECH),
        ("text/html", html('<meta charset="windows-1250">', CZECH, "cp1250"), CZECH),
        ("text/html", html("<meta http-equiv=Content-Type content='text/html; charset=KOI8-R'>", "Привет", "koi8-r"),
         "Привет"),
        ("application/xhtml+xml", b'<?xml version="1.0" encoding="ISO-8859-2"?>' + CZECH.encode("iso8859-2"), CZECH),
        ("text/html; charset=utf-8", html("<meta charset=windows-1250>", CZECH, "utf-8"), CZECH),
        ("text/html; charset=latin1", codecs.BOM_UTF8 + CZECH.encode(), CZECH),
        ("text/html; charset=utf-8", codecs.BOM_UTF16_LE + CZECH.encode("utf-16-le"), CZECH),
        ("text/html; charset=utf-16", CZECH.encode("utf-16-le"), CZECH),
        ("text/html", html("<meta charset=utf-16>", CZECH, "utf-8"), CZECH),
        ("text/html; charset=iso-8859-1", "“quoted” — €5".encode("cp1252"), "“quoted” — €5"),
        ("text/html", "“quoted” — €5".encode("cp1252"), "“quoted” — €5"),
        ("text/html; charset=gb2312", "镕基".encode("gb18030"), "镕基"),
        ('text/html; charset="Shift_JIS"', "①テスト".encode("cp932"), "①テスト"),
        ("text/html; charset=iso-8859-8-i", "שלום".encode("iso8859-8"), "שלום"),
        ("text/html; charset=ks_c_5601-1987", "한국어".encode("cp949"), "한국어"),
    ],
)  # fmt: skip
def test_a_page_is_read_in_its_encoding(content_type: str, body: bytes, shown: str) -> None:
    assert shown in decode(body, content_type)


@pytest.mark.parametrize("label", ["utf-7", "unicode_escape", "idna", "punycode", "rot13", "hex", "base64", "utf-32"])
def test_an_encoding_that_only_python_has_is_not_taken(label: str) -> None:
    body = "+ADw-script+AD4- \\x3cb\\x3e žluť".encode()
    assert decode(body, f"text/html; charset={label}") == body.decode()


@pytest.mark.parametrize(
    ("label", "text", "codec"),
    [
        ("x-sjis", "①テスト", "cp932"), ("windows-31j", "①テスト", "cp932"), ("ks_c_5601-1989", "한국어", "cp949"),
        ("iso88592", CZECH, "iso8859-2"), ("l2", CZECH, "iso8859-2"), ("x-cp1251", "Привет", "cp1251"),
        ("logical", "שלום", "iso8859-8"), ("x-gbk", "镕基", "gb18030"), ("sun_eu_greek", "Αθήνα", "iso8859-7"),
        ("x-mac-roman", "Größe", "mac-roman"), ("dos-874", "กรุง", "cp874"), ("latin5", "ığş", "cp1254"),
    ],
)  # fmt: skip
def test_labels_are_those_of_the_standard(label: str, text: str, codec: str) -> None:
    assert decode(text.encode(codec), f"text/html; charset={label}") == text


@pytest.mark.parametrize(
    ("content_type", "head"), [("text/html; charset=utf-8", ""), ("text/html", "<meta charset=utf-8>")]
)
def test_a_page_that_is_not_in_utf_8_as_it_says_is_read_in_the_likelier_encoding(content_type: str, head: str) -> None:
    text = "Москва является столицей России и крупнейшим городом страны."
    assert decoded(f"{head}<p>{text}".encode("cp1251"), content_type) == (f"{head}<p>{text}", True)
    assert decoded(f"{head}<p>{text}".encode(), content_type) == (f"{head}<p>{text}", False)


SCRIPTS = {
    "Москва является столицей России и крупнейшим городом страны.": ("cp1251", "koi8-r", "iso8859-5", "cp866"),
    "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και η μεγαλύτερη πόλη.": ("cp1253",),
    "ירושלים היא עיר הבירה של מדינת ישראל והעיר הגדולה ביותר בה.": ("cp1255",),
    "القاهرة هي عاصمة جمهورية مصر العربية وأكبر مدنها من حيث عدد السكان.": ("cp1256",),
    "กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุด": ("cp874",),
    "これは日本語の文章です。東京は日本の首都であり、大きな都市です。": ("cp932", "euc_jp", "iso2022_jp"),
    "这是一个用来测试的中文网页，内容包括北京、上海等城市的介绍。": ("gb18030",),
    "這是一個繁體中文的網頁，內容介紹臺北與高雄的天氣。": ("big5hkscs",),
    "이것은 한국어 페이지입니다. 서울은 대한민국의 수도입니다.": ("cp949",),
    "L’été dernier, l’élève rêvait près du château, à Noël.": ("cp1252",),
}


@pytest.mark.parametrize(("text", "codec"), [(text, codec) for text, codecs in SCRIPTS.items() for codec in codecs])
def test_a_page_that_names_no_encoding_is_read_by_its_letters(text: str, codec: str) -> None:
    page = f"<title>News</title><nav>Home</nav><p>{text}</p>"
    assert decode(page.encode(codec), "text/html") == page


def test_a_damaged_byte_does_not_spoil_a_page_in_utf_8() -> None:
    page = "<p>Größe und Übermut: „schön“</p>".encode()
    assert decode(page.replace(b"und", b"u\xffnd"), "") == "<p>Größe u\ufffdnd Übermut: „schön“</p>"
    assert decode(page[: page.index("ö".encode()) + 1] + "ßäöü".encode(), "text/plain").endswith("\ufffdßäöü")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_read(codec: str) -> None:
    page = "<!doctype html><title>Ärger</title><p>Größe</p>"
    assert decode(page.encode(codec), "text/html") == page
    assert decode(b"a\0b" * 100, "text/html") == "a\0b" * 100


_RUSSIAN = "Москва является столицей России; крупнейшим городом страны её сделали дороги и реки."
_GERMAN = 2 * "Die Fähre fährt täglich über das große Wasser, müde Möwen schreien über süßen Brötchen; "
_JAPANESE = "これは日本語の文章です。東京は日本の首都であり、大きな都市です。"
_POLISH = "Prom odpływa ze starego nabrzeża, gdy morze jest spokojne, a łódź świeci żółtą lampą."


@pytest.mark.parametrize(
    ("said", "text", "codec"),
    [
        ("windows-1252", _RUSSIAN, "utf-8"), ("iso-8859-2", _GERMAN, "utf-8"), ("shift_jis", _GERMAN, "utf-8"),
        ("windows-1252", _RUSSIAN, "cp1251"), ("koi8-r", _RUSSIAN, "cp1251"), ("windows-1251", _RUSSIAN, "koi8-r"),
        ("windows-1251", _GERMAN, "cp1252"), ("iso-8859-1", _JAPANESE, "cp932"), ("euc-jp", _JAPANESE, "cp932"),
        ("gbk", _GERMAN, "cp1252"), ("windows-1250", _POLISH, "cp1250"), ("iso-8859-2", _POLISH, "iso8859-2"),
        ("koi8-u", _RUSSIAN, "koi8-r"), ("iso-8859-5", _RUSSIAN, "iso8859-5"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["text/html", "text/csv", "message/rfc822"])
def test_an_encoding_that_yields_garbage_is_not_believed(kind: str, said: str, text: str, codec: str) -> None:
    head = {"text/html": "<p>", "text/csv": "a,b\nc,", "message/rfc822": ""}[kind]
    body = (head + text).encode(codec)
    if kind == "message/rfc822":
        body = f"From: a@b.test\r\nSubject: x\r\nContent-Type: text/plain; charset={said}\r\n\r\n".encode() + body
    assert text.strip() in content_of(body, content_type=f"{kind}; charset={said}")


def test_polish_of_which_nothing_is_said_is_not_cyrillic() -> None:
    assert "Prom odp" in decode(_POLISH.encode("cp1250"), "")
    assert not any("а" <= char <= "я" for char in decode(_POLISH.encode("cp1250"), ""))
