"""Run by another user inside the machine of test_render_service: renders one page over the service's socket."""

import asyncio
import sys
from pathlib import Path

from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.fetcher import Fetcher
from gateway.engines.fetch.host_slots import HostSlots
from gateway.engines.render.renderer import NotRendered, ProcessSettings, Reach, RenderDeps, Renderer, RenderProcess
from tests.support.rendering import document

PAGE = "<body><script>document.body.append('made' + ' by a script')</script></body>"


async def main(place: str) -> None:
    fetcher = Fetcher(AddressPolicy(), "test")
    reach = Reach(fetcher, None)
    process = RenderProcess(ProcessSettings(Path(place), Path("/nonexistent")))
    session = Renderer(RenderDeps(process, reach, reach, HostSlots(6), 8), "auto").session("key1")
    try:
        sys.stdout.write((await session.render(document(PAGE))).html.decode() + "\n")
    except NotRendered as failure:
        sys.stdout.write(f"not rendered: {failure}\n")
    await session.close()
    await fetcher.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
