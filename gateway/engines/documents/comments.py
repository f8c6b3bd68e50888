"""What readers have noted beside the slides of a .pptx or the cells of an .xlsx: `Comment on B2 by Ana: Why so few?`.

Those of texts are notes (`word`, `odt_epub`). Sources: ECMA-376, part 1, 18.7 and 19.4; [MS-PPTX] 2.1.39 and
[MS-XLSX] 2.1.62 for threads and their people; read 2026-11-29.
"""

from typing import Any

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.office import Package, Relation, related

_PEOPLE = ("commentAuthors", "authors", "person")
_STAND_IN = "tc="
"""How the author begins of a comment that tells older programs of a thread."""


def comment(author: str | None, text: str, place: str | None = None) -> str:
    """One comment as a line; `place`: the cell it is about."""
    where, who = f" on {place}" if place else "", f" by {author}" if author else ""
    return f"Comment{where}{who}: {' '.join(text.split())}" if text.strip() else ""


def write_comments(package: Package, of_all: dict[str, Relation], own: dict[str, Relation], out: DocumentText) -> None:
    """The comments that a slide or sheet leads to by its `own` relations; `of_all`: those of the main part, which leads
    to the people."""
    people: dict[str | None, str] = {}
    for kind in _PEOPLE:
        for each in _elements(package, of_all, kind, "cmAuthor", "author", "person"):
            people[each.get("id")] = each.get("name") or each.get("displayName") or ""
    for kind in ("comments", "threadedComment"):
        listed = [each.text or "" for each in _elements(package, own, kind, "author")]
        names = people | {str(number): name for number, name in enumerate(listed)}
        for each in _elements(package, own, kind, "cm", "reply", "comment", "threadedComment"):
            author = names.get(each.get("authorId") or each.get("personId"), "")
            if not author.startswith(_STAND_IN):
                said = next(each.iterchildren("{*}text", "{*}txBody"), ())
                out.paragraph(
                    comment(author, "".join(map(_text, said)) or getattr(said, "text", "") or "", each.get("ref"))
                )


def _text(part: Any) -> str:
    return f"{''.join(part.itertext('{*}t'))}{' ' if part.tag.endswith('}p') else ''}"


def _elements(package: Package, relations: dict[str, Relation], kind: str, *names: str) -> list[Any]:
    name = related(relations, kind)
    root = package.root(name) if name else None
    return list(root.iter(*(f"{{*}}{each}" for each in names))) if root is not None else []
