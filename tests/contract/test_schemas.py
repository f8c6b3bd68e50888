"""JSON Schema files are valid; the configuration says one thing in schema, code and documentation."""

import dataclasses
import re
import subprocess
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import jsonschema
import orjson
import pytest

from gateway.config import settings as config
from gateway.config.environment import Environment, credential_variable
from gateway.config.loader import load_config
from gateway.config.settings import Secret
from tests.support.paths import ROOT

FILES = sorted(path for path in (ROOT / "schemas").rglob("*.json") if path.name != "openapi.json")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_schema_file_is_a_valid_schema(path: Path) -> None:
    document = orjson.loads(path.read_bytes())
    schemas = [document] if "$schema" in document else [document[key] for key in ("inputSchema", "outputSchema")]
    for schema in schemas:
        jsonschema.Draft202012Validator.check_schema(schema)


def from_schema(node: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Key path -> default (or the marker for 'required' / 'none') of every leaf of the configuration schema."""
    others = node.get("additionalProperties")
    found: dict[str, Any] = from_schema(others, f"{path}.NAME") if others else {}
    for name, child in node["properties"].items():
        where = f"{path}.{name}" if path else name
        items = child.get("items", {})
        if child.get("type") == "object" and "properties" in child:
            found |= from_schema(child, where)
        elif items.get("type") == "object" and "properties" in items:
            found |= from_schema(items, where)
        else:
            found[where] = child.get("default", None)
    return found


def from_dataclasses(kind: Any, path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    hints = get_type_hints(kind)
    for each in dataclasses.fields(kind):
        if each.name in ("state_dir", "file"):
            continue
        where = f"{path}.{each.name}" if path else each.name
        inner = [hints[each.name], *get_args(hints[each.name])]
        nested = next((t for t in inner if dataclasses.is_dataclass(t) and t is not Secret), None)
        if nested is not None:
            found |= from_dataclasses(nested, f"{path}.NAME" if config.TABLES in each.metadata else where)
            continue
        default: Any = each.default if each.default is not dataclasses.MISSING else None
        if each.default_factory is not dataclasses.MISSING:
            default = each.default_factory()
        found[where] = list(default) if get_origin(hints[each.name]) is tuple else default
    return found


def from_documentation() -> dict[str, str]:
    """Key path -> default as written, from the tables of docs/configuration.md."""
    text = (ROOT / "docs" / "configuration.md").read_text()
    return dict(re.findall(r"^\| `([A-Za-z_.]+)` \| ([^|]*?) \|", text, flags=re.MULTILINE))


def test_the_schema_and_the_dataclasses_name_the_same_keys_and_defaults() -> None:
    schema = from_schema(orjson.loads((ROOT / "schemas" / "config.json").read_bytes()))
    assert schema == from_dataclasses(config.Config)


def test_the_documentation_lists_every_key_with_its_default_and_no_other() -> None:
    schema = from_schema(orjson.loads((ROOT / "schemas" / "config.json").read_bytes()))
    documented = from_documentation()
    assert sorted(documented) == sorted(schema)
    for path, default in schema.items():
        shown = "–" if default is None else f"`{orjson.dumps(default).decode()}`"
        assert documented[path] == shown, path


EXAMPLES = re.findall(
    r"^## (\w+)\n.*?```toml\n(.*?)```", (ROOT / "docs" / "configuration.md").read_text(), flags=re.MULTILINE | re.DOTALL
)


def test_every_section_of_the_configuration_has_an_example() -> None:
    assert [name for name, _ in EXAMPLES] == [
        each.name for each in dataclasses.fields(config.Config) if each.name not in ("state_dir", "file")
    ]


@pytest.mark.parametrize(("section", "toml"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_example_of_the_documentation_is_a_configuration_that_changes_its_section(
    tmp_path: Path, section: str, toml: str
) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a",
         "-keyout", "key.pem", "-out", "chain.pem"],
        cwd=tmp_path, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    file = tmp_path / "gateway.toml"
    file.write_text(toml)
    variables = {credential_variable(name): "secret" for name in re.findall(r'credential = "(\w+)"', toml)}
    loaded = load_config(file, tmp_path, Environment(variables))
    default = config.Config(state_dir=tmp_path, file=file)
    changed = {
        each.name for each in dataclasses.fields(loaded) if getattr(loaded, each.name) != getattr(default, each.name)
    }
    assert changed <= {section}
