"""The render process in the test's own event loop, over a scripted browser and real sockets."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.fetcher import Fetcher
from gateway.engines.fetch.host_slots import HostSlots
from gateway.engines.render.renderer import PageLimits, ProcessSettings, Reach, RenderDeps, Renderer, RenderProcess
from gateway.engines.render.server import Options, RenderServer
from tests.support.scripted_browser import scripted_browser


@dataclass
class Wish:
    """What a test wants: the scripted browser's `play`, and how the process and the gateway are set."""

    play: dict[str, Any] = field(default_factory=dict)
    peer: str = str(os.getuid())
    seconds: float = 5.0
    idle_s: float = 60.0
    max_pages: int = 2
    allow: tuple[str, ...] = ()
    chromium: str = ""
    limits: PageLimits = field(default_factory=PageLimits)


@dataclass
class Running:
    """A renderer, its server's task, and the socket between them."""

    renderer: Renderer
    process: RenderProcess
    serving: asyncio.Task[None]
    place: Path


@asynccontextmanager
async def running(folder: Path, wish: Wish) -> AsyncIterator[Running]:
    place = folder / "render.sock"
    program = wish.chromium or scripted_browser(folder, wish.play)
    options = Options(str(place), wish.peer, program, wish.max_pages, wish.idle_s, 1024)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(place))
    listening.listen()
    server = RenderServer(options)
    serving = asyncio.get_running_loop().create_task(server.serve(listening))
    fetcher = Fetcher(AddressPolicy(wish.allow), "test")
    public = fetcher.public_only()
    process = RenderProcess(ProcessSettings(place, folder / "unused.sock"))
    deps = RenderDeps(process, Reach(public, None), Reach(fetcher, None), HostSlots(6), wish.seconds, wish.limits)
    try:
        yield Running(Renderer(deps, "auto"), process, serving, place)
    finally:
        server.stop()
        async with asyncio.timeout(20):
            await serving
        await process.close()
        await public.close()
        await fetcher.close()
