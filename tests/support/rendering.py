"""The web engine over a real browser, for tests that need Chromium: skipped in plain words where there is none."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pytest

from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.fetcher import Fetched, Fetcher
from gateway.engines.fetch.host_slots import HostSlots
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.render.browser import NoBrowser, find_chromium
from gateway.engines.render.frames import Picture
from gateway.engines.render.renderer import (
    PageLimits,
    ProcessSettings,
    Reach,
    RenderDeps,
    Rendered,
    Renderer,
    RenderProcess,
)

PUBLIC = "http://198.51.100.7/"
"""A page that counts as public: its document is handed over, and its address is one of documentation (RFC 5737), so
that nothing is asked for there."""


def need_chromium() -> None:
    """Skips the test where no browser is installed."""
    try:
        find_chromium("")
    except NoBrowser as error:
        pytest.skip(f"no browser to render pages with: {error} (apt-get install chromium)")


@dataclass
class RenderWish:
    """How a test wants the renderer. `state` is a folder for its socket."""

    state: Path
    allow: tuple[str, ...] = ()
    seconds: float = 8.0
    max_pages: int = 2
    memory_max: int = 1 << 30
    respect_robots: bool = False
    limits: PageLimits = field(default_factory=PageLimits)
    mode: str = "auto"


@dataclass
class Rendering:
    """A renderer with its process, and its fetcher of allowed addresses."""

    renderer: Renderer
    process: RenderProcess
    fetcher: Fetcher
    slots: HostSlots

    async def render(self, url: str, *, fragment: str = "", owner: str = "key1", picture: Picture = "none") -> Rendered:
        """Fetches one page and renders it in a call of its own."""
        session = self.renderer.session(owner)
        try:
            return await session.render(await self.fetcher.fetch(url), fragment, picture=picture)
        finally:
            await session.close()

    async def render_html(self, html: str, url: str = PUBLIC) -> Rendered:
        """Renders a page at a public address whose document is `html`."""
        session = self.renderer.session("key1")
        try:
            return await session.render(document(html, url))
        finally:
            await session.close()


def document(html: str, url: str = PUBLIC, *, public: bool = True) -> Fetched:
    """A page as the fetcher gives it."""
    return Fetched(url, 200, "text/html; charset=utf-8", html.encode(), MappingProxyType({}), public)


@asynccontextmanager
async def rendering(wish: RenderWish) -> AsyncIterator[Rendering]:
    """A renderer; its process ends with the context."""
    need_chromium()
    fetcher = Fetcher(AddressPolicy(wish.allow), "test-agent/1")
    public, slots = fetcher.public_only(), HostSlots(6)
    place, most = wish.state / "render.sock", wish.memory_max
    settings = ProcessSettings(None, place, max_pages=wish.max_pages, memory_max=most, idle_s=30)
    process = RenderProcess(settings)
    narrow, wide = (
        Reach(each, RobotsCache(each, "test-agent/1") if wish.respect_robots else None) for each in (public, fetcher)
    )
    deps = RenderDeps(process, narrow, wide, slots, wish.seconds, wish.limits)
    try:
        yield Rendering(Renderer(deps, wish.mode), process, fetcher, slots)
    finally:
        await process.close()
        await public.close()
        await fetcher.close()


class CountingListener:
    """A socket on loopback that counts connections, which nobody may make."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    def connections(self) -> int:
        """Connections since the last look."""
        count = 0
        while True:
            try:
                self._socket.accept()[0].close()
            except BlockingIOError:
                return count
            count += 1

    def close(self) -> None:
        """Stops listening."""
        self._socket.close()


def text_of(rendered: Rendered) -> str:
    """The rendered HTML."""
    return rendered.html.decode()
