"""Every code that an error may have stands in the catalogue for people, with its cause and what to do."""

import ast
import re

from tests.support.paths import ROOT

CATALOGUE = (ROOT / "docs" / "errors.md").read_text()
LINES = [line.strip("|").split("|") for line in CATALOGUE.splitlines() if line.startswith("| ")]
ROWS = [[cell.strip() for cell in line] for line in LINES]


def codes() -> list[str]:
    """Codes of error classes, and those that are given where an error is made."""
    found = set()
    modules = [(path, ast.parse(path.read_text())) for path in sorted((ROOT / "gateway").rglob("*.py"))]
    texts = [each for _, module in modules for each in module.body if isinstance(each, ast.Assign)]
    named = {
        name.id: each.value.value
        for each in texts
        for name in ast.walk(each)
        if isinstance(name, ast.Name) and isinstance(each.value, ast.Constant)
    }
    for path, module in modules:
        for node in ast.walk(module):
            if path.name == "errors.py" and path.parent.name == "gateway" and isinstance(node, ast.Assign):
                names = [each.id for each in node.targets if isinstance(each, ast.Name)]
                found |= {node.value.value for name in names if name == "code" and isinstance(node.value, ast.Constant)}
            if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Constant):
                found.add(node.value.value)
            if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Name):
                found.add(named.get(node.value.id))
    return sorted(code for code in map(str, filter(None, found)) if re.fullmatch(r"[\w-]+", code))


def test_every_code_has_a_cause_and_what_to_do() -> None:
    rows = {code: [row for row in ROWS if f"`{code}`" in row[1]] for code in codes()}
    assert [code for code, found in rows.items() if not found] == []
    assert all(len(row) == 4 and len(row[3]) > 10 for found in rows.values() for row in found)


def test_the_catalogue_names_no_code_that_is_gone() -> None:
    source = "\n".join(path.read_text() for path in sorted((ROOT / "gateway").rglob("*.py")))
    named = {name.strip(" `") for row in ROWS[1:] for name in row[1].split(",") if "`" in name}
    assert {name for name in named if f'"{name}"' not in source} == set()
