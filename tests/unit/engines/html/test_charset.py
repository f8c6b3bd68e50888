"""Encodings: the standard's order, the standard's labels, and nothing a page could hide in."""

import codecs

import pytest

from gateway.engines.html.encoding import _CODECS, decode

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


def test_every_label_names_a_codec_that_decodes_any_bytes() -> None:
    assert len(_CODECS) > 200
    for codec in set(_CODECS.values()):
        assert isinstance(bytes(range(256)).decode(codec, "replace"), str)


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
