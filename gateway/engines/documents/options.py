"""What a parsing process shall do with one body. Imports nothing that reads pages: the serving process needs it too."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """A job for a parsing process: what to read from one body.

    `task` "page" reads a page (see `engines.documents.page`), "file" one of a request: its content is bytes,
    UTF-8, since a `str` may take four bytes a character and is made once it is known what stands around it. "sitemap"
    reads a sitemap (see engines.documents.feeds), for which the other fields mean nothing; "shorten" cuts texts
    (see engines.documents.shortening), "picture" draws page `number` of a document, "plain picture" turns one upright
    (see engines.documents.page_picture). `depth` is basic or advanced, `format` markdown or text. `query` asks for what
    of the page answers it, `fragment` for one section; of a result longer than `most_chars` (0: any) the sections are
    listed, about `most_sections`. `links`
    and `images` ask for those lists; with `routes` links to `#!/…` are links to pages. `page_texts`: what OCR has read
    of pages without text, by their number; of an HTML page, which is one, of a picture of it.
    """

    url: str
    content_type: str = "text/html"
    depth: str = "basic"
    format: str = "markdown"
    query: str | None = None
    fragment: str = ""
    most_chars: int = 0
    most_sections: int = 0
    links: bool = False
    routes: bool = False
    images: bool = False
    number: int = 1
    page_texts: tuple[tuple[int, str], ...] = ()
    task: Literal["page", "file", "sitemap", "shorten", "picture", "plain picture"] = "page"
