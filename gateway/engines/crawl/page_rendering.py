"""Decides which pages of a call are rendered in a browser, and has what it shows read like any other page.

| `render.mode` | rendered, of the pages of calls with `extract_depth: "advanced"`                                  |
|---------------|---------------------------------------------------------------------------------------------------|
| "auto"        | those that seem to show their text with scripts only (`engines.html.script_signs`), routes `#!/…` |
| "always"      | every HTML page                                                                                   |
| "off"         | none; the loader then has no instance of this                                                     |

The page as fetched is kept where a browser shows less of it. Knows no crawl and no browser.
"""

from dataclasses import dataclass, replace

from gateway.domain import Json
from gateway.engines.documents.parse_pool import ExtractOptions, ParsePool
from gateway.engines.documents.pictures import PictureReader
from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.fetch.fetcher import Fetched
from gateway.engines.render.process import NotRendered
from gateway.engines.render.renderer import Renderer

_HTML = "text/html; charset=utf-8"
_KEPT_SHARE = 0.5
"""A rendered page with a smaller share of the fetched one's text is taken for a consent wall or an error screen.
Chosen: pages replace a list by its first items; at half, some walls pass for pages, at double nothing may be shorter.
"""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A rendered page: its address, with a route (`#!/…`) but no other fragment, what was read of it, and whether all
    of it was public."""

    url: str
    data: Json
    public: bool


class PageRendering:
    """The rendering of one call's pages, for the key `owner`. `close` it."""

    def __init__(self, renderer: Renderer, pool: ParsePool, owner: str, pictures: PictureReader | None = None) -> None:
        """`pictures` reads pages whose text is drawn on a canvas."""
        self._session = renderer.session(owner)
        self._mode = renderer.mode
        self._pool = pool
        self._owner = owner
        self._pictures = pictures

    async def improved(self, fetched: Fetched, page: Json, options: ExtractOptions) -> ShownPage | None:
        """What a browser shows of a page that was fetched and read as `page`; None when `page` is to be used, which
        then says in `unrendered` why its scripts were not run, if it needs them. Raises EngineMissing, Overloaded.

        `undrawn` of either says why text that the page may draw as a picture was not read.
        """
        route = options.fragment if options.fragment[:1] in ("!", "/") else ""
        if page.get("kind") != "html" or not (self._mode == "always" or page.get("needs_browser") or route):
            return None
        if options.depth != "advanced":
            page["unrendered"] = (
                'the page shows its text only with JavaScript; ask for it with extract_depth "advanced" to have it run'
            )
            return None
        try:
            rendered = await self._session.render(fetched, route, "drawn" if self._pictures is not None else "none")
            wish = replace(
                options,
                url=rendered.url.partition("#")[0],
                content_type=_HTML,
                fragment="" if route else options.fragment,
            )
            shown = await self._pool.extract(rendered.html, wish, self._owner)
            if rendered.picture and self._pictures is not None:
                shown = await self._pictures.with_picture(rendered.html, wish, shown, self._owner, rendered.picture)
            elif rendered.no_picture:
                shown["undrawn"] = rendered.no_picture
        except (NotRendered, FetchFailed) as failure:
            page["unrendered"] = f"the page shows its text only with JavaScript, and could not be rendered ({failure})"
            return None
        if len(shown["content"]) < _KEPT_SHARE * len(page["content"]):
            if undrawn := shown.get("undrawn"):
                page["undrawn"] = undrawn
            return None
        shown["noindex"] = bool(
            shown.get("noindex") or page.get("noindex") or route
        )  # a route has no address of its own
        shown["refresh"] = None  # the browser has followed it
        address = f"{wish.url}#{route}" if route.startswith("!/") else wish.url  # a page of its own
        return ShownPage(address, shown, rendered.public)

    async def close(self) -> None:
        """Ends the call's browser context. Never raises."""
        await self._session.close()
