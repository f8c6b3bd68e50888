"""Joins what several search providers found for one question into one answer.

Places count, not scores, which no two providers mean alike: a result is worth the sum of 1 / (60 + its place) over the
providers that found it (reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009, whose 60 it is).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.domain import Json
from gateway.engines.fetch.urls import canonical, site_of
from gateway.services.websearch.filters import fold
from gateway.wire.preencoded import PackedJson

_K = 60
_MIN_TEXT_CHARS = 40
"""Shorter texts, such as `Sign in to continue`, are those of different pages too."""


def fused(answers: Sequence[Json], max_results: int) -> Json:
    """One answer of several, each as the service has it for its provider alone; they may be changed.

    `provider` names all, `note` holds the notes of each behind its name, and which parameters some of them ignore; what
    one says that found nothing counts where nobody found anything. `ignored_parameters` are those that all ignore. A
    result's `other_urls` are further addresses of the same text.
    """
    for answer in answers:
        if isinstance(answer, PackedJson):
            answer.unpack()
    ignored = [answer.get("ignored_parameters", []) for answer in answers]
    by_all = [name for name in ignored[0] if all(name in names for names in ignored)]
    is_empty = not any(answer["results"] for answer in answers)
    notes = []
    for answer, names in zip(answers, ignored, strict=True):
        some = ", ".join(name for name in names if name not in by_all)
        notes += [f"{answer['provider']} ignores {some}."] if some else []
        says = answer.get("note") if answer["results"] or is_empty else None
        notes += [f"{answer['provider']}: {says}"] if says else []
    images = {_address(each): each for answer in answers for each in answer["images"]}
    rest = {"ignored_parameters": by_all, "note": " ".join(notes)}
    return {
        "query": answers[0]["query"],
        "results": _ranked([answer["results"] for answer in answers])[:max_results],
        "images": list(images.values())[:max_results],
        "provider": ", ".join(answer["provider"] for answer in answers),
        **{name: value for name, value in rest.items() if value},
        **({"truncated": True} if any("truncated" in answer for answer in answers) else {}),
    }


def _address(picture: Json | str) -> str:
    return picture["url"] if isinstance(picture, dict) else picture


@dataclass(slots=True)
class _Fused:
    """A result, what it is worth, and the numbers of the providers that found it: each counts once."""

    result: Json
    worth: float = 0.0
    by: set[int] = field(default_factory=set)


def _ranked(lists: Sequence[list[Json]]) -> list[Json]:
    """The results of all lists, best first and each once, with scores relative to the best."""
    known: dict[str, _Fused] = {}
    found: list[_Fused] = []
    placed = [(place, by, result) for by, results in enumerate(lists) for place, result in enumerate(results, 1)]
    for place, by, result in sorted(placed, key=lambda each: each[:2]):  # the best of equal results is met first
        keys = _keys(result)
        same = next((known[key] for key in keys if key in known), None)
        if same is None:
            same = _Fused(result)
            found.append(same)
        else:
            _join(same.result, result)
        known = dict.fromkeys(keys, same) | known
        same.worth += 0 if by in same.by else 1 / (_K + place)
        same.by.add(by)
    found.sort(key=lambda each: -each.worth)
    for each in found:
        each.result["score"] = round(each.worth / found[0].worth, 4)
    return [each.result for each in found]


def _join(kept: Json, other: Json) -> None:
    """Adds to a result what an equal one has and it lacks."""
    urls = [*kept.pop("other_urls", []), other["url"], *other.pop("other_urls", [])]
    others = [url for url in dict.fromkeys(urls) if page_key(url) != page_key(kept["url"])]
    kept |= {name: value for name, value in other.items() if not kept.get(name)}
    if others:
        kept["other_urls"] = others


def _keys(result: Json) -> list[str]:
    """What equal results share, one of it: an address, or their text."""
    text = fold(result["content"])
    urls = map(page_key, [result["url"], *result.get("other_urls", [])])
    return [*urls, f" {text}"] if len(text) >= _MIN_TEXT_CHARS else [*urls]


def page_key(url: str) -> str:
    """What all addresses of one page share: no scheme, `www.`, trackers, or slash at the end."""
    host, _, path = (canonical(url) or url).partition("://")[2].partition("/")
    return f"{site_of(host)}/{path.replace('/?', '?', 1)}".rstrip("/")
