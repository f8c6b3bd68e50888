"""Checks queries of PromQL against real metrics text: every metric exists, with every label that a query names.

Knows the part of the language that dashboards and alert rules of this project use; anything else is an error.
Source: prometheus.io, "Querying basics", "Functions", "Aggregation operators", read 2026-11-22.
"""

import re

from prometheus_client.parser import text_string_to_metric_families

FUNCTIONS = {"rate": "range", "increase": "range", "histogram_quantile": "", "absent": "", "time": ""}
AGGREGATIONS = {"sum", "max", "min"}
_TOKEN = re.compile(
    r"\s*(?:(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)|(?P<number>\d+(?:\.\d+)?)|(?P<range>\[\d+[smhd]\])"
    r'|(?P<match>=~|!~|!=|==|>=|<=|=)|(?P<text>"[^"]*")|(?P<sign>[-+*/<>(){},]))'
)


class WrongQuery(Exception):
    """A query that Prometheus would refuse, or that finds nothing."""


def samples(metrics_text: str) -> dict[str, set[str]]:
    """Labels of every sample by its name (`…_bucket` and the like)."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics_text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def check(query: str, known: dict[str, set[str]]) -> set[str]:
    """The metrics that a query reads. Raises WrongQuery."""
    checker = _Checker(query, known)
    checker.expression()
    if checker.token is not None:
        raise WrongQuery(f"{query}: unexpected {checker.token}")
    return checker.used


class _Checker:
    def __init__(self, query: str, known: dict[str, set[str]]) -> None:
        self.query, self.known = query, known
        self.used: set[str] = set()
        self._tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(query.rstrip()):
            found = _TOKEN.match(query, place)
            if found is None or found.lastgroup is None:
                raise WrongQuery(f"{query}: cannot be read from {query[place:]!r}")
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            place = found.end()
        self._place = 0

    @property
    def token(self) -> tuple[str, str] | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def take(self, text: str = "", kind: str = "") -> str:
        token = self.token
        if token is None or (text and token[1] != text) or (kind and token[0] != kind):
            raise WrongQuery(f"{self.query}: expected {text or kind}, found {token}")
        self._place += 1
        return token[1]

    def has(self, *texts: str) -> bool:
        return self.token is not None and self.token[1] in texts

    def expression(self) -> set[str]:
        labels = self.operand()
        while self.has("+", "-", "*", "/", "<", ">", ">=", "<=", "==", "!=", "or", "and", "unless"):
            self.take()
            labels &= self.operand() or labels
        return labels

    def operand(self) -> set[str]:
        if self.has("("):
            self.take()
            labels = self.expression()
            self.take(")")
            return labels
        if self.token is not None and self.token[0] == "number":
            self.take()
            return set()
        name = self.take(kind="name")
        if name in AGGREGATIONS:
            return self.aggregation()
        if name in FUNCTIONS:
            return self.function(name)
        return self.selector(name)

    def aggregation(self) -> set[str]:
        by: set[str] = set()
        if self.has("by"):
            self.take()
            self.take("(")
            while not self.has(")"):
                by.add(self.take(kind="name"))
                if self.has(","):
                    self.take()
            self.take(")")
        self.take("(")
        labels = self.expression()
        self.take(")")
        if by - labels:
            raise WrongQuery(f"{self.query}: no label {by - labels} to sum by; there are {labels}")
        return by

    def function(self, name: str) -> set[str]:
        self.take("(")
        labels: set[str] = set()
        while not self.has(")"):
            labels |= self.expression()
            if FUNCTIONS[name] == "range":
                self.take(kind="range")
            if self.has(","):
                self.take()
        self.take(")")
        if name == "histogram_quantile" and "le" not in labels:
            raise WrongQuery(f"{self.query}: histogram_quantile needs the label le")
        return labels - {"le"} if name == "histogram_quantile" else labels

    def selector(self, name: str) -> set[str]:
        labels = self.known.get(name)
        if labels is None:
            raise WrongQuery(f"{self.query}: there is no metric {name}")
        self.used.add(name)
        if self.has("{"):
            self.take()
            while not self.has("}"):
                label = self.take(kind="name")
                if label not in labels:
                    raise WrongQuery(f"{self.query}: {name} has no label {label}; it has {labels}")
                self.take(kind="match")
                self.take(kind="text")
                if self.has(","):
                    self.take()
            self.take("}")
        return set(labels)
