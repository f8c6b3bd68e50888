"""One term of a query in PostgreSQL: the tsquery that finds it, and SQL for how often a passage has it.

A single word is counted when it is stored. A term of several words (`index_max_pages`, an exact phrase) is counted from
the places of its words, which is dear, so where many passages have it, it counts as often as its rarest word does.
"""

from dataclasses import dataclass
from typing import Any

from gateway.engines.index.postgres.tokens import LABELS, lexeme
from gateway.engines.index.signals import WEIGHTS

PHRASE_LABELS = "ABD"
"""Title, headings and text: where an exact phrase may stand."""
_MOST_COUNTED = 500
"""Passages with a phrase up to which its places are counted. Chosen: 50 ms; at half some names are ranked by their
parts, at double a search for a common phrase is noticed."""
_ALL_LABELS = "".join(sorted(set(LABELS.values())))


@dataclass(frozen=True, slots=True)
class Term:
    """`words` one after another, as the vectors have them; `labels`: in columns with these labels only, empty for
    all."""

    words: tuple[str, ...]
    labels: str = ""

    @property
    def query(self) -> str:
        """The text of a tsquery."""
        suffix = f":{self.labels}" if self.labels else ""
        return "(" + " <-> ".join(f"{lexeme(word)}{suffix}" for word in self.words) + ")"


def frequency_sql(term: Term, passages: int) -> tuple[str, list[Any]]:
    """SQL for the weights of the columns of a row in which the term stands, added up for each occurrence, and its
    values. `passages`: how many have the term."""
    if len(term.words) == 1 and not term.labels:
        return "coalesce((frequencies ->> %s::text)::float8, 0)", [term.words[0]]
    counted, values = _counted(term) if passages <= _MOST_COUNTED else _rarest(term)
    return f"CASE WHEN words @@ %s::tsquery THEN {counted} ELSE 0 END", [term.query, *values]


def _rarest(term: Term) -> tuple[str, list[Any]]:
    each = ", ".join(["coalesce((frequencies ->> %s::text)::float8, 0)"] * len(term.words))
    return f"least({each})", [*term.words]


def _counted(term: Term) -> tuple[str, list[Any]]:
    label_weights = {label: WEIGHTS[column] for column, label in LABELS.items() if column != "cjk"}
    weight = " ".join(f"WHEN '{label}' THEN {weight}" for label, weight in label_weights.items())
    following = " AND ".join(
        f"place + {offset} = ANY((SELECT next.positions FROM unnest(words) AS next"  # noqa: S608 - constants only
        " WHERE next.lexeme = %s)::smallint[])"
        for offset in range(1, len(term.words))
    )
    sql = (
        f"(SELECT coalesce(sum(CASE label {weight} END), 0)::float8 FROM unnest(words) AS first,"  # noqa: S608
        " unnest(first.positions, first.weights) AS places (place, label)"
        f" WHERE first.lexeme = %s AND position(label IN %s) > 0{' AND ' if following else ''}{following})"
    )
    return sql, [term.words[0], term.labels or _ALL_LABELS, *term.words[1:]]
