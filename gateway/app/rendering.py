"""Composition of rendering: the process with the browser, and the two ways in which its pages may reach the network."""

from contextlib import AsyncExitStack
from pathlib import Path

from gateway.config.settings import Config
from gateway.domain import Json
from gateway.engines.fetch.fetcher import Fetcher
from gateway.engines.fetch.host_limits import HostSlots
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.render.process import ProcessSettings, RenderProcess
from gateway.engines.render.renderer import RenderDeps, Renderer
from gateway.engines.render.requests import Reach


def page_renderer(config: Config, fetcher: Fetcher, slots: HostSlots, resources: AsyncExitStack) -> Renderer | None:
    """Renders pages in a process that is started at the first one; None where the configuration wants none."""
    render = config.render
    if render.mode == "off":
        return None
    settings = ProcessSettings(
        Path(render.socket) if render.socket else None,
        config.state_dir.absolute() / "render.sock",
        render.chromium,
        render.max_pages,
        render.idle_s,
        render.memory_max,
    )
    process, public = RenderProcess(settings), fetcher.public_only()
    resources.push_async_callback(public.close)
    resources.push_async_callback(process.close)
    narrow, wide = (_reach(config, each) for each in (public, fetcher))
    return Renderer(RenderDeps(process, narrow, wide, slots, render.page_timeout_s), render.mode)


def rendering_status(mode: str, renderer: Renderer | None) -> Json:
    """`{mode, error}` for the status tool; `error` is None while nothing is known to be wrong."""
    return {"mode": mode, "error": None if renderer is None else renderer.problem}


def _reach(config: Config, fetcher: Fetcher) -> Reach:
    return Reach(fetcher, RobotsCache(fetcher, config.web.user_agent) if config.web.respect_robots else None)
