"""The render process and the gateway's side of it, over real pipes and sockets; the browser is scripted."""

import asyncio
import os
import re
import sys
import time
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from gateway.domain import Json
from gateway.engines.render import frames, renderer
from gateway.engines.render.frames import Picture
from gateway.engines.render.renderer import NotRendered, ProcessSettings, Rendered, RenderProcess
from gateway.engines.render.server import listening_socket
from tests.support.rendering import PUBLIC, document
from tests.support.scripted_browser import scripted_browser
from tests.support.waiting import until
from tests.support.websites import Site, serving
from tests.unit.engines.render.conftest import Running, Wish, running

PAGE = "<p>the document</p>"
STARTED = frames.pack({"event": "started"})


async def render(made: Running, html: str = PAGE, owner: str = "key1", *, picture: Picture = "none") -> Rendered:
    session = made.renderer.session(owner)
    try:
        async with asyncio.timeout(30):
            return await session.render(document(html), picture=picture)
    finally:
        await session.close()


@pytest.mark.slow
@pytest.mark.parametrize("does", [[], ["shell"]], ids=["chromium", "headless-shell"])
async def test_a_page_comes_back_as_the_browser_shows_it(tmp_path: Path, does: list[str]) -> None:
    async with running(tmp_path, Wish({"does": does})) as made:
        page = await render(made, picture="always")
        assert page.picture.startswith(b"\x89PNG")
        assert (page.url, page.html, page.public) == (PUBLIC, PAGE.encode(), True)


@pytest.mark.slow
async def test_a_browser_is_driven_as_what_it_is_whatever_its_name(tmp_path: Path) -> None:
    for does, name in ((["shell"], "a-browser"), ([], "chrome-headless-shell")):
        folder = tmp_path / name[0]
        folder.mkdir()
        os.rename(scripted_browser(folder, {"does": does}), folder / name)
        async with running(folder, Wish(chromium=str(folder / name))) as made:
            assert (await render(made, picture="always")).picture.startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("play", "picture", "words"),
    [
        ({"silent": ["Page.captureScreenshot"]}, "always", "no picture of it within 0.3 s"),
        ({"silent": ["Page.captureScreenshot"], "does": ["drawn"]}, "drawn", "no picture of it within 0.3 s"),
        ({"silent": ["HeadlessExperimental.beginFrame"], "does": ["shell"]}, "always", "no picture of it within 0.3 s"),
        ({"does": ["blank"]}, "always", "gave no picture of it$"),
        ({"does": ["large"]}, "always", "picture is too large"),
    ],
    ids=["chromium", "canvas", "headless-shell", "refused", "too-large"],
)
async def test_a_page_without_its_picture_keeps_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, play: Json, picture: Picture, words: str
) -> None:
    monkeypatch.setattr("gateway.engines.render.tab.PICTURE_S", 0.3)
    monkeypatch.setitem(renderer._PICTURE_WORDS, "slow", "the browser gave no picture of it within 0.3 s")
    monkeypatch.setattr("gateway.engines.render.tab.MAX_BODY_BYTES", 200)
    async with running(tmp_path, Wish(play)) as made:
        page = await render(made, picture=picture)
        assert page.html == PAGE.encode() and not page.picture
        assert re.search(words, page.no_picture)
        again = await render(made)
        assert again.html == PAGE.encode() and not again.no_picture


@pytest.mark.slow
async def test_the_pages_of_a_call_share_a_tab_and_calls_follow_each_other(tmp_path: Path) -> None:
    async with running(tmp_path, Wish(max_pages=1)) as made:
        session = made.renderer.session("key1")
        pages = [await session.render(document(f"<p>{at}</p>")) for at in range(3)]
        assert [page.html for page in pages] == [b"<p>0</p>", b"<p>1</p>", b"<p>2</p>"]
        await session.close()
        both = await asyncio.gather(render(made, "<p>a</p>", "key1"), render(made, "<p>b</p>", "key2"))
        assert {page.html for page in both} == {b"<p>a</p>", b"<p>b</p>"}


@pytest.mark.slow
async def test_requests_of_a_page_are_answered_or_refused_by_the_gateway(tmp_path: Path) -> None:
    async with serving(Site({"/data": (200, {"Content-Type": "text/plain"}, b"from the site")})) as site:
        asks: list[Json] = [
            {"url": f"{site.url}/data"},
            {"url": "http://10.0.0.1/"},
            {"url": f"{site.url}/data", "kind": "Image"},
            {"url": f"{site.url}/data", "headers": {"Service-Worker": "script"}},
            {"url": f"{site.url}/data", "method": "POST", "posts": "x" * 70_000},
        ]
        async with running(tmp_path, Wish({"asks": asks}, allow=(site.address,))) as made:
            session = made.renderer.session("key1")
            page = await session.render(document(PAGE, site.url + "/", public=False))
            await session.close()
        assert page.html.count(b"[200]from the site") == 1 and page.html.count(b"[refused]") == 4
        assert not page.public and site.asked == ["/data"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("dies", "brought its browser down"),
        ("crashes", "brought its browser down"),
        ("no_text", "did not hand over the page's text within 3 s"),
        ("leads_away", "address that could not be read"),
        ("refuses", "address that could not be read"),
        ("windowless", "opened no window"),
        ("ends", "cannot be started"),
    ],
)
async def test_a_lost_page_says_why_and_the_next_one_can_be_tried(tmp_path: Path, does: str, words: str) -> None:
    async with running(tmp_path, Wish({"does": [does]})) as made:
        for _ in range(2):
            with pytest.raises(NotRendered, match=words):
                await render(made)
        assert (made.process.problem is not None) == (does == "ends")


@pytest.mark.slow
async def test_a_page_that_does_not_rest_is_read_after_its_seconds(tmp_path: Path) -> None:
    async with running(tmp_path, Wish({"does": ["hangs"]}, seconds=0.3)) as made:
        began = time.monotonic()
        async with asyncio.timeout(5):
            assert (await render(made)).html == PAGE.encode()
        assert time.monotonic() - began >= 0.3


@pytest.mark.slow
async def test_a_page_is_not_held_back_while_its_tab_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.engines.render.tab.CALL_S", 4)
    play = {"does": ["hangs"], "silent": ["Target.disposeBrowserContext"]}
    async with running(tmp_path, Wish(play, seconds=0.3)) as made:
        session = made.renderer.session("key1")
        async with asyncio.timeout(3.5):
            assert (await session.render(document(PAGE))).html == PAGE.encode()
        assert (await session.render(document("<p>next</p>"))).html == b"<p>next</p>"
        await session.close()


@pytest.mark.slow
@pytest.mark.parametrize("does", ["garbles", "opens", "talks"])
async def test_what_the_browser_says_beside_the_protocol_changes_nothing(tmp_path: Path, does: str) -> None:
    async with running(tmp_path, Wish({"does": [does]})) as made:
        assert (await render(made)).html == PAGE.encode()


@pytest.mark.slow
async def test_a_caller_that_leaves_frees_its_turn(tmp_path: Path) -> None:
    async with running(tmp_path, Wish({"does": ["hangs"]}, seconds=2, max_pages=1)) as made:
        leaving = asyncio.create_task(render(made))
        await asyncio.wait([leaving], timeout=0.5)
        leaving.cancel()
        async with asyncio.timeout(3.9):
            await render(made)


@pytest.mark.slow
async def test_the_process_ends_when_it_has_had_nothing_to_do(tmp_path: Path) -> None:
    async with running(tmp_path, Wish(idle_s=0.2)) as made:
        await render(made)
        async with asyncio.timeout(10):
            await made.serving


async def test_another_user_gets_no_answer(tmp_path: Path) -> None:
    for folder, peer in ((tmp_path, str(os.getuid() + 1)), (tmp_path / "..", "no such user")):
        async with running(folder, Wish(peer=peer)) as made:
            with pytest.raises(NotRendered, match="ended or does not answer"):
                await render(made)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    [
        b"\xff" * 64,
        frames.pack({"op": "open"}),
        frames.pack({"op": "open", "url": "x", "owner": 1, "seconds": 1}),
        frames.pack({"op": "open", "url": "x", "owner": "k", "seconds": 1}) * 2,
        b"\x00\x00\x00\x01\x00\x00\x00\x00[",
        b"\x00\x00\x00\x02\x00\x00\x00\x00[]",
    ],
)
async def test_a_frame_that_is_none_ends_its_call_alone(tmp_path: Path, sent: bytes) -> None:
    async with running(tmp_path, Wish()) as made:
        source, sink = await asyncio.open_unix_connection(str(made.place))
        sink.write(sent)
        async with asyncio.timeout(10):
            while await source.read(65_536):
                pass
        sink.close()
        assert (await render(made)).html == PAGE.encode()


@pytest.mark.parametrize(
    "answer",
    [
        b"\xff" * 64,
        frames.pack({"event": "failed", "reason": ["odd"]}),
        frames.pack({"event": "started"})[:7],
        STARTED + frames.pack({"event": "unheard of"}),
        STARTED + frames.pack({"event": "page", "url": "file:///etc/passwd"}, b"x"),
        STARTED + frames.pack({"event": "page", "url": 1}, b"x"),
        STARTED + frames.pack({"event": "request", "id": "1", "url": "http://a/"}),
        STARTED + frames.pack({"event": "request", "id": 1}) * 501,
    ],
)
async def test_a_render_process_that_was_taken_over_costs_no_more_than_its_page(tmp_path: Path, answer: bytes) -> None:
    async def talk(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        await frames.read(source)
        sink.write(answer)
        sink.write_eof()
        await source.read()  # until the gateway has had enough
        sink.close()

    async with running(tmp_path, Wish()) as made:
        made.place.unlink()
        hostile = await asyncio.start_unix_server(talk, str(made.place))
        with pytest.raises(NotRendered):
            await render(made)
        hostile.close()


async def test_a_socket_where_nobody_listens_is_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    process = RenderProcess(ProcessSettings(tmp_path / "none.sock", tmp_path / "own.sock"))
    with caplog.at_level("INFO", "gateway"):
        for _ in range(3):
            with pytest.raises(NotRendered, match="nobody listens"):
                await process.connect()
    assert [record.message for record in caplog.records] == ["render_unavailable"]
    assert process.problem is not None and "none.sock" in process.problem


def test_a_browser_that_was_installed_meanwhile_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    process = RenderProcess(ProcessSettings(None, tmp_path / "own.sock", chromium="a-browser"))
    assert "a-browser is not installed" in str(process.lack())
    later = time.monotonic() + 60
    monkeypatch.setattr("shutil.which", lambda name: "/there")
    monkeypatch.setattr("time.monotonic", lambda: later)
    assert process.lack() is None


@pytest.mark.slow
async def test_a_process_without_a_browser_says_so_and_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = RenderProcess(ProcessSettings(None, tmp_path / "own.sock", chromium="no-such-browser"))
    launch = AsyncMock(wraps=process._launch)
    monkeypatch.setattr(process, "_launch", launch)
    assert "no-such-browser is not installed" in str(process.lack())
    for _ in range(2):
        with pytest.raises(NotRendered, match="no-such-browser is not installed"):
            await process.connect()
    assert launch.await_count == 1 and process.is_away
    await process.close()


PARENT = """
import asyncio, sys
from pathlib import Path
from gateway.engines.render.renderer import NotRendered, ProcessSettings, RenderProcess
async def main():
    process = RenderProcess(ProcessSettings(None, Path(sys.argv[1]), chromium=sys.argv[2]))
    try:
        await process.connect()
        print(process.pid, flush=True)
    except NotRendered as error:
        print(error, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.mark.slow
async def test_it_ends_with_the_gateway_that_was_killed(tmp_path: Path) -> None:
    words = (sys.executable, "-c", PARENT, str(tmp_path / "own.sock"), scripted_browser(tmp_path))
    parent = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    said = (await asyncio.wait_for(parent.stdout.readline(), 30)).decode().strip()
    parent.kill()
    await parent.wait()
    if not said.isdigit():
        pytest.skip(said)
    await until(lambda: has_ended(int(said)), 10)


def has_ended(pid: int) -> bool:
    """Also when nobody has asked for its exit code yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_socket_file_left_behind_is_replaced_and_belongs_to_its_user_alone(tmp_path: Path) -> None:
    place = tmp_path / "render.sock"
    for _ in range(2):
        listening = listening_socket(str(place))
        assert place.stat().st_mode & 0o777 == 0o600
        listening.close()  # its file stays, as after a crash
