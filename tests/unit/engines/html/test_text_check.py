"""Binary content that is labelled as text is refused; text in any encoding and of any kind is read."""

import gzip
import io
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable

import pytest

from gateway.engines.fetch.errors import Unreadable
from gateway.engines.html.tree import holdable
from tests.support.paths import GOLDEN
from tests.support.read_pages import content_of, page_of

PROSE = "The gateway reads pages, and what is no page it refuses. "
LANGUAGES = {
    "french": ("Les élèves étaient très pressés d’arrêter à côté du café fermé. ", "cp1252"),
    "vietnamese": ("Trường đại học của chúng tôi ở thành phố rất đẹp và yên tĩnh. ", "utf-8"),
    "russian": ("Съешь же ещё этих мягких французских булок, да выпей чаю. ", "cp1251"),
    "russian mail": ("Съешь же ещё этих мягких французских булок, да выпей чаю. ", "koi8-r"),
    "japanese": ("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。", "shift_jis"),
    "chinese": ("子曰：「學而時習之，不亦說乎？有朋自遠方來，不亦樂乎？」", "gb18030"),
    "korean": ("모든 국민은 법 앞에 평등하다. 누구든지 차별을 받지 아니한다. ", "euc-kr"),
    "greek": ("Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. ", "iso8859-7"),
    "hebrew": ("דג סקרן שט בים מאוכזב ולפתע מצא חברה. ", "cp1255"),
    "thai": ("เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน ", "iso8859-11"),
    "emoji": ("🎉 Release 2.0 👩‍💻🏳️‍🌈 is out 🚀. ", "utf-8"),
    "utf-16": ("Text in two bytes a letter, with its mark. ", "utf-16"),
    "ancient": ("𐎠𐎡𐎢 𒀀𒀁𒀂 𓀀𓀁𓀂 ", "utf-8"),
}


def uniform(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            archive.writestr(f"page-{number}.html", PROSE * 50 + str(uniform(50, number)))
    return file.getvalue()


def tarred() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for number in range(20):
            member = tarfile.TarInfo(f"page-{number}.txt")
            member.size = len(PROSE)
            archive.addfile(member, io.BytesIO(PROSE.encode()))
    return file.getvalue()


BINARY: dict[str, Callable[[], bytes]] = {
    "noise": lambda: uniform(50_000, 1),
    "little noise": lambda: uniform(300, 2),
    "tiny gif": lambda: bytes.fromhex("474946383961010001008000") + b"\xff\xff\xff" + b"\0" * 12,
    "real picture": (GOLDEN / "ocr-sample.png").read_bytes,
    "gzip": lambda: gzip.compress(uniform(9_000, 3) + PROSE.encode() * 100),
    "zip": zipped,
    "tar of texts": tarred,
    "integers": lambda: struct.pack("<4000i", *range(4000)),
    "floats": lambda: struct.pack("<4000d", *(random.Random(4).gauss(0, 1) for _ in range(4000))),
    "sound": lambda: b"RIFF\0\0\0\0WAVE" + struct.pack("<8000h", *random.Random(5).choices(range(-900, 900), k=8000)),
    "silence": lambda: b"\0" * 4_000,
    "page with a program behind it": lambda: b"<html><body><p>Hello</p>" + uniform(60_000, 6),
    "program with a page in it": lambda: uniform(60_000, 7) + b"<html><p>Hi</p></html>" + uniform(9_000, 8),
}  # fmt: skip
CONTENT_TYPES = ["text/html", "text/html; charset=utf-8", "text/plain", "text/plain; charset=iso-8859-1", "text/css",
                 "application/json", "text/markdown", "text/html; charset=shift_jis", "text/plain; charset=gb18030",
                 ]  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_binary_content_is_refused_whatever_text_it_is_said_to_be(name: str) -> None:
    content = BINARY[name]()
    for content_type in CONTENT_TYPES:
        with pytest.raises(Unreadable, match=r"not text|cannot be read") as caught:
            page_of(content, content_type=content_type)
        assert caught.value.code == "unsupported_type"


def test_noise_is_refused_in_an_encoding_of_two_bytes_that_lacks_few_characters() -> None:
    with pytest.raises(Unreadable, match="not text"):
        page_of(uniform(50_000, 9), content_type="text/html; charset=utf-16le")


@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
@pytest.mark.parametrize("name", LANGUAGES)
def test_text_of_any_language_and_encoding_is_read(name: str, kind: str) -> None:
    text, encoding = LANGUAGES[name]
    markup = f"<html><title>t</title><body><main><p>{text * 400}</p></main></body></html>"
    body = (markup if kind == "text/html" else text * 400).encode(encoding)
    assert text.split()[0] in content_of(body, content_type=f"{kind}; charset={encoding}")


@pytest.mark.parametrize(
    "text",
    [
        "N\bNA\bAM\bME\bE\n     l\bls\bs - list the contents of a _\bd_\bi_\br_\be_\bc_\bt_\bo_\br_\by\n" * 50,
        "\x1b[32mok\x1b[0m 12 passed\n\x1b[31mfailed\x1b[0m 1\n" * 200,
        "RFC 1149\f\n" + PROSE * 40 + "\f" + PROSE * 40,
        PROSE * 20 + "\0" + PROSE * 20,
        "".join(f"line {at} of a table that ends its rows with a NUL for its own reasons\0\n" for at in range(90)),
        "x",
        "\0",
        "\ue001 \ue002 Download \ue003 Search " + PROSE * 3,
    ],
    ids=["man page", "colours", "form feeds", "a stray NUL", "NULs of a table", "one letter", "one NUL", "icons"],
)
def test_odd_but_readable_text_is_read(text: str) -> None:
    page_of(text, content_type="text/x-log; charset=utf-8")


def test_a_french_page_that_declares_the_wrong_encoding_is_still_read() -> None:
    body = LANGUAGES["french"][0].encode("cp1252") * 100
    assert "pressés" in content_of(body, content_type="text/plain")
    assert "presss" not in content_of(body, content_type="text/plain; charset=utf-8")


ODD = [
    "\x05", "\x0c", "\ufffe", "&#5;", "&#11", "&#x0c;", "&#X0001F;", "&#xFFFE;", "&#65535;", "&#0000000000005;", "&#0;",
]  # fmt: skip
PLACES = [
    "<main><h1>H</h1><p>Some text of a page</p></main>{}<!--><p>a</p>-->{}<p>b",
    "<p>x{}<script>y</script>{}z</p><title>a{}</title><a href='x{}'>l{}</a><pre>{}</pre>",
    "<div hidden>q</div>{}<nav>n</nav>{}<style>s</style>{}<p>end</p>",
]


@pytest.mark.parametrize("odd", ODD)
def test_characters_that_no_tree_can_hold_cost_no_page(odd: str) -> None:
    for place in PLACES:
        page = page_of(place.format(*[odd] * 9), content_type="text/html; charset=utf-8", links=True, images=True)
        assert page["kind"] == "html"


def test_references_to_characters_that_a_tree_holds_are_left_alone() -> None:
    kept = "&#9; &#10; &#13; &#32; &#50; &#1234; &#x9; &#xA; &#xd; &#x20; &#xFFFD; &#x1F600; &#55; &#655340; &#xfffe0;"
    assert holdable(kept) == kept
