"""Pages that need a browser, rendered by a real one: what a reader would see comes back."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.support.rendering import Rendering, RenderWish, rendering, text_of
from tests.support.websites import Answer, Site, serving

pytestmark = pytest.mark.system


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(Site()) as site:
        yield site


@pytest.fixture
async def shown(site: Site, tmp_path: Path) -> AsyncIterator[Rendering]:
    async with rendering(RenderWish(tmp_path, (site.address,))) as made:
        yield made


def script(text: str) -> Answer:
    return 200, {"Content-Type": "text/javascript"}, text.encode()


def plain(text: str) -> Answer:
    return 200, {"Content-Type": "text/plain"}, text.encode()


PAGE = "<!doctype html><html><head><title>t</title></head><body><div id=app></div>{}</body></html>"


async def test_text_made_by_a_script_is_read(site: Site, shown: Rendering) -> None:
    site.pages |= {"/": PAGE.format('<script src="/a.js"></script>'), "/a.js": script("app.append('made by a script')")}
    page = await shown.render(site.url + "/")
    assert '<div id="app">made by a script</div>' in text_of(page) and page.url == site.url + "/" and not page.public


async def test_a_fetch_long_after_loading_is_waited_for_without_waiting(site: Site, shown: Rendering) -> None:
    late = "<script>setTimeout(async () => app.append(await (await fetch('/late')).text()), 3000)</script>"
    site.pages |= {"/": PAGE.format(late), "/late": plain("it came late")}
    await shown.render(site.url + "/")  # the browser is started
    began = time.monotonic()
    assert "it came late" in text_of(await shown.render(site.url + "/"))
    assert time.monotonic() - began < 2.9, "the page's three seconds are virtual"


async def test_a_slow_answer_is_waited_for(site: Site, shown: Rendering) -> None:
    async def slow(_: web.Request) -> web.Response:
        await asyncio.sleep(1)
        return web.Response(text="slow but there")

    site.pages |= {"/": PAGE.format("<script>fetch('/slow').then(r=>r.text()).then(t=>app.append(t))</script>")}
    site.pages["/slow"] = slow
    assert "slow but there" in text_of(await shown.render(site.url + "/"))


async def test_a_list_that_goes_on_for_ever_gives_its_first_screens(site: Site, shown: Rendering) -> None:
    endless = """<script>let n = 0;
    const entry = () => app.insertAdjacentHTML('beforeend', `<p style="height:200px">entry ${n++}</p>`);
    const more = () => { for (let i = 0; i < 20; i++) entry() };
    more(); addEventListener('scroll', () => { if (innerHeight + scrollY > document.body.scrollHeight - 50) more() });
    </script>"""
    site.pages |= {"/": PAGE.format(endless)}
    page = text_of(await shown.render(site.url + "/"))
    assert "entry 0<" in page and "entry 39<" in page and "entry 400<" not in page


async def test_the_text_behind_a_consent_wall_is_read(site: Site, shown: Rendering) -> None:
    wall = """<script>app.innerHTML = '<article>the article itself</article>';
    document.body.insertAdjacentHTML('beforeend', '<div role="dialog">accept our cookies</div>');
    document.body.style.overflow = 'hidden'; alert('accept?'); if (!confirm('really?')) app.append(' shown anyway');
    </script>"""
    site.pages |= {"/": PAGE.format(wall)}
    page = text_of(await shown.render(site.url + "/"))
    assert "the article itself" in page and "shown anyway" in page


async def test_routes_of_the_client_and_hash_bangs_are_followed(site: Site, shown: Rendering) -> None:
    router = """<script>app.append('route ' + (location.hash || location.pathname));
    history.replaceState({}, '', '/made')</script>"""
    site.pages |= {"/": PAGE.format(router), "/deep/route": PAGE.format(router)}
    assert "route #!/about" in text_of(await shown.render(site.url + "/", fragment="!/about"))
    page = await shown.render(site.url + "/deep/route")
    assert "route /deep/route" in text_of(page) and page.url == site.url + "/made"


async def test_a_script_that_leads_on_is_followed_and_redirects_are_too(site: Site, shown: Rendering) -> None:
    site.pages |= {
        "/": PAGE.format("<script>location.href = '/next'</script>"),
        "/next": (302, {"Location": "/there"}, b""),
        "/there": PAGE.format("<script>app.append('arrived at ' + location.pathname)</script>"),
    }
    page = await shown.render(site.url + "/")
    assert "arrived at /there" in text_of(page) and page.url == site.url + "/there"


async def test_frames_workers_and_shadow_trees_are_part_of_the_page(site: Site, shown: Rendering) -> None:
    parts = """<iframe src="/frame"></iframe><x-box>given to a slot</x-box><script>
    new Worker('/worker.js').onmessage = (event) => app.append(event.data);
    customElements.define('x-box', class extends HTMLElement { connectedCallback() {
      this.attachShadow({mode: 'open'}).innerHTML = '<style>b{}</style><b>in a shadow tree</b> <slot></slot>' } });
    </script>"""
    site.pages |= {
        "/": PAGE.format(parts),
        "/frame": "<body><script>document.body.append('in a frame')</script></body>",
        "/worker.js": script("fetch('/data').then(r => r.text()).then(t => postMessage(t))"),
        "/data": plain("fetched by a worker"),
    }
    page = text_of(await shown.render(site.url + "/"))
    for words in ("in a frame", "fetched by a worker", "in a shadow tree", "given to a slot"):
        assert words in page


async def test_a_page_is_told_that_it_is_online_and_cannot_change_how_it_is_read(site: Site, shown: Rendering) -> None:
    tricks = """<script>app.append('online ' + navigator.onLine);
    Object.defineProperty(Element.prototype, 'outerHTML', {get: () => 'a lie'}); JSON.stringify = () => '"a lie"';
    </script>"""
    site.pages |= {"/": PAGE.format(tricks)}
    page = text_of(await shown.render(site.url + "/"))
    assert "online true" in page and page.startswith("<html")


async def test_nothing_is_kept_from_one_call_to_the_next(site: Site, shown: Rendering) -> None:
    keeper = """<script>app.append('seen ' + localStorage.length + document.cookie);
    localStorage.setItem('who', 'key1'); document.cookie = 'who=key1'</script>"""
    site.pages |= {"/": PAGE.format(keeper)}
    await shown.render(site.url + "/", owner="key1")
    assert "seen 0<" in text_of(await shown.render(site.url + "/", owner="key2"))


async def test_what_goes_out_bears_no_credential_and_says_who_asks(site: Site, shown: Rendering) -> None:
    headers: list[dict[str, str]] = []

    async def data(request: web.Request) -> web.Response:
        headers.append({name.lower(): value for name, value in request.headers.items()})
        return web.Response(text="x", headers={"Set-Cookie": "sent=1"})

    site.pages |= {
        "/data": data,
        "/": PAGE.format("""<script>document.cookie = 'made=1'; (async () => {
        for (const i of [1, 2]) await fetch('/data', {headers: {Authorization: 'Bearer x', 'X-Key': 'y'}});
        await fetch('/data', {method: 'POST', body: '{"a": 1}', headers: {'Content-Type': 'application/json'},
                              credentials: 'include'}) })()</script>"""),
    }
    await shown.render(site.url + "/")
    assert len(headers) == 3
    for sent in headers:
        assert sent["user-agent"] == "test-agent/1" and not {"cookie", "authorization", "x-key", "referer"} & set(sent)
    assert headers[2]["content-type"] == "application/json"


async def test_pictures_fonts_and_media_are_not_fetched(site: Site, shown: Rendering) -> None:
    heavy = """<link rel=icon href=/icon.png><style>@font-face{font-family:f;src:url(/f.woff2)} p{font-family:f}</style>
    <p>words</p><img src=/picture.png><video src=/film.mp4 autoplay></video><script>fetch('/hidden.png')</script>"""
    site.pages |= {"/": PAGE.format(heavy), "/hidden.png": (200, {"Content-Type": "image/png"}, b"x")}
    await shown.render(site.url + "/")
    assert set(site.asked) == {"/", "/hidden.png"}


async def test_robots_txt_binds_what_a_page_asks_for(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/robots.txt": plain("User-agent: *\nDisallow: /private/"),
        "/": PAGE.format("<script src=/a.js></script><script src=/private/b.js></script>"),
        "/a.js": script("app.append('allowed')"),
        "/private/b.js": script("app.append('forbidden')"),
    }
    async with rendering(RenderWish(tmp_path, (site.address,), respect_robots=True)) as shown:
        page = text_of(await shown.render(site.url + "/"))
    assert ">allowed<" in page and "forbidden" not in page and "/private/b.js" not in site.asked


async def test_a_picture_of_a_page_is_taken_with_its_images(site: Site, shown: Rendering) -> None:
    site.pages |= {"/": PAGE.format("<img src=/p.svg>")}
    site.pages["/p.svg"] = (200, {"Content-Type": "image/svg+xml"}, b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    page = await shown.render(site.url + "/", picture="always")
    assert page.picture.startswith(b"\x89PNG") and "/p.svg" in site.asked


async def test_the_process_ends_when_it_has_nothing_to_do_and_is_started_again(site: Site, shown: Rendering) -> None:
    site.pages |= {"/": PAGE.format("<script>app.append('again')</script>")}
    assert "again" in text_of(await shown.render(site.url + "/"))
    await shown.process.close()
    assert "again" in text_of(await shown.render(site.url + "/"))


async def test_a_page_drawn_on_a_canvas_comes_with_a_picture_and_no_other_page(site: Site, shown: Rendering) -> None:
    draw = "document.querySelector('canvas').getContext('2d').fillText('drawn', 9, 99)"
    site.pages["/"] = f"<body style='margin:0'><canvas width=1280 height=1500></canvas><script>{draw}</script></body>"
    assert (await shown.render(site.url + "/", picture="drawn")).picture.startswith(b"\x89PNG")
    words = " ".join(f"word{number}" for number in range(80))
    site.pages["/"] = f"<p>{words}</p><canvas width=1280 height=1500></canvas>"
    assert not (await shown.render(site.url + "/", picture="drawn")).picture
    site.pages["/"] = "<p>few words</p><canvas width=300 height=150></canvas>"
    assert not (await shown.render(site.url + "/", picture="drawn")).picture
