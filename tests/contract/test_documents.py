"""The documents for people name files, symbols and pages that exist."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT

DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted(path for path in (ROOT / "docs").glob("*.md") if not path.is_symlink()),
]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RULES = re.findall(r"^\| ([^|]+) \| `([^`|]+)` \| `(\w+)` \|$", CONTRIBUTING, re.MULTILINE)
NEW = re.compile(r"\bexample\b")
"""Files that a recipe tells people to make."""


def names_defined_in(path: Path) -> set[str]:
    """Functions, classes and constants of a module, and the methods and attributes of its classes."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def test_the_table_of_rules_is_long_enough_to_be_of_use() -> None:
    assert len(RULES) >= 25
    assert len({rule for rule, _, _ in RULES}) == len(RULES)


@pytest.mark.parametrize(("rule", "file", "name"), RULES, ids=[rule for rule, _, _ in RULES])
def test_a_rule_is_where_the_table_says(rule: str, file: str, name: str) -> None:
    assert (ROOT / file).is_file(), f"{rule}: there is no file {file}"
    assert name in names_defined_in(ROOT / file), f"{rule}: {file} defines no {name}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_file_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    named = re.findall(r"`((?:gateway|tests|bench|schemas|docs|systemd|requirements)/[\w/.-]+\.\w+)`", text)
    assert not [name for name in named if not NEW.search(name) and not (ROOT / name).exists()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_link_of_a_document_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        page = (document.parent / file) if file else document
        assert page.is_file(), f"{document.name}: {target}"
        titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
        anchors = [re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles]
        assert not anchor or anchor in anchors, f"{document.name}: {target}"


THREATS = (ROOT / "THREATS.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ([A-E]\d) \|.*\|([^|]+)\|$", THREATS, re.MULTILINE))
"""The tests of each threat, as the last column names them."""


def test_every_risk_of_the_three_top_tens_is_met_by_a_row() -> None:
    rows = {risk: re.findall(r"[A-E]\d", met) for risk, met in re.findall(r"((?:API|LLM|MCP)\d\d?) ([^·|]+)", THREATS)}
    numbers = [*(f"API{n}" for n in range(1, 11)), *(f"{name}{n:02}" for name in ("LLM", "MCP") for n in range(1, 11))]
    assert list(rows) == numbers
    assert all(met and set(met) <= set(ROWS) for met in rows.values())


@pytest.mark.parametrize(("threat", "tests"), ROWS.items(), ids=list(ROWS))
def test_a_threat_is_held_by_tests_that_exist(threat: str, tests: str) -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", tests)
    assert named, f"{threat} names no test"
    assert all((ROOT / name).exists() for name in named), f"{threat}: {tests}"


SIZES_KB = {
    "README.md": 9.5, "CONTRIBUTING.md": 10, "ARCHITECTURE.md": 9.5, "THREATS.md": 12, "CHANGES.md": 8.5,
    "docs/benchmarks.md": 8, "docs/operations.md": 16,
}  # fmt: skip
"""How long a document may be, in kilobytes of 1,000: what people read once and in one sitting."""


@pytest.mark.parametrize(("document", "most_kb"), SIZES_KB.items())
def test_a_document_stays_short_enough_to_be_read(document: str, most_kb: int) -> None:
    assert (ROOT / document).stat().st_size <= most_kb * 1000


_PROSE = [path for path in DOCUMENTS if path.name not in ("configuration.md", "errors.md")]
MOST_WORDS = 28_000
"""Of all documents but the two that tell each setting and each code, and the two that lead by the hand."""
MOST_CHARS = 600
"""Of a paragraph or an item of a list: what is read at one glance."""


def test_the_reference_stays_short_enough_to_be_known() -> None:
    told = [path.read_text() for path in _PROSE if path.name not in ("tutorial.md", "recipes.md")]
    assert sum(bool(re.search(r"\w", word)) for text in told for word in text.split()) <= MOST_WORDS


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_paragraph_is_read_at_one_glance(document: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    parts = [part for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose) if not part.lstrip().startswith("|")]
    assert [part for part in parts if len(" ".join(part.split())) > MOST_CHARS] == []


def test_every_make_target_that_people_are_told_of_exists() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    told = {name for path in DOCUMENTS for name in re.findall(r"`make ([a-z-]+)", path.read_text(encoding="utf-8"))}
    assert told - set(targets) <= {"test-system"}, "test-system comes with the first test that needs it"


def logged_events() -> set[str]:
    """The names that the code hands to `logs.event` and `logs.events`, and that of other libraries' lines."""
    names = {"log"}
    for path in (ROOT / "gateway").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
                continue
            owner, name = node.func.value, node.args[0]
            if isinstance(owner, ast.Name) and owner.id == "logs" and node.func.attr in ("event", "events"):
                assert isinstance(name, ast.Constant), f"{path}:{node.lineno}: the name of an event must stand here"
                names.add(str(name.value))
    return names


def test_the_runbook_has_a_row_for_every_event_and_no_other() -> None:
    text = (ROOT / "docs" / "telemetry.md").read_text(encoding="utf-8")
    table = text[text.index("| Event | Level |") :].split("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert len(rows) == len(set(rows))
    assert set(rows) == logged_events()
