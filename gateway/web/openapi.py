"""The OpenAPI document of all routes, and the same for people."""

import copy
from collections.abc import Iterable
from typing import Any

from gateway import __version__, schemas
from gateway.domain import WEB_TOOLS, Json
from gateway.web.endpoints import Endpoint

_TOOLS = [name.removeprefix("websearch-") for name in WEB_TOOLS]
_FILES = {
    "ChatRequest": "chat",
    "ResponsesRequest": "responses",
    "CompactRequest": "compact",
    "ConversationRequest": "conversation",
    "MessagesRequest": "messages",
    "EmbeddingsRequest": "embeddings",
    "JsonRpcRequest": "jsonrpc",
    "SanitizePreviewRequest": "sanitize_preview",
    "NewKeyRequest": "admin_key",
    "KeyChangesRequest": "admin_key_changes",
}
"""Components of request bodies, and the files of `schemas/` that they are made of."""
_WITH_ITEMS = ("compact", "conversation")
"""Files whose items are those of `responses`."""
_NOT_OF_OPENAPI = ("$schema", "errorMessage")
"""Keywords of our schemas that a document of OpenAPI may not have; the second one is words of an error."""


def document(rows: Iterable[Endpoint], server: str) -> Json:
    """The OpenAPI document of these routes below the address `server`: `schemas/openapi.json` with the scopes of the
    routes and the schemas that requests are checked against. Raises KeyError for a route that the file does not have.

    Source: spec.openapis.org/oas/v3.1.0 (read 2026-11-22), whose schemas are those of JSON Schema 2020-12, so that the
    files are in it unchanged; only their `$defs` become components, since a reference counts from the whole document.
    """
    made = copy.deepcopy(schemas.load("openapi"))
    words, made["paths"] = made["paths"], {}
    for row in rows:
        scopes, method = " or ".join(sorted(row.scopes)), row.method.lower()
        needed = f"Needs a key with the scope {scopes}." if scopes else "Takes any valid key."
        made["paths"].setdefault(row.path, {})[method] = {**words[row.path][method], "description": needed}
    made["info"]["version"], made["servers"] = __version__, [{"url": server}]
    made["components"]["schemas"] |= _request_components()
    return made


def _request_components() -> dict[str, Json]:
    components: dict[str, Json] = {}
    for name, file in {**_FILES, **{f"{_camel(name)}Arguments": f"tools/{name}" for name in _TOOLS}}.items():
        schema = dict(schemas.load(file))
        parts = schema.pop("$defs", {})
        if file.startswith("tools/"):
            parts = {"Data": parts["output"]}  # the other entries are texts for descriptions, not schemas
        for part, definition in parts.items():
            components[f"{name}.{part}"] = _moved(definition, name)
        components[name] = _moved(schema, "ResponsesRequest" if file in _WITH_ITEMS else name)
    return components


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.replace("-", "_").split("_"))


def _moved(value: Any, name: str) -> Any:
    """The schema with references to its own definitions turned to the components that these have become."""
    if isinstance(value, list):
        return [_moved(each, name) for each in value]
    if not isinstance(value, dict):
        return value
    moved = {key: _moved(each, name) for key, each in value.items() if key not in _NOT_OF_OPENAPI}
    reference = moved.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        moved["$ref"] = f"#/components/schemas/{name}.{reference.removeprefix('#/$defs/')}"
    return moved


def reference(openapi: Json) -> str:
    """The same for people, as Markdown: each route with its scope, its fields, and what they may be."""
    components = openapi["components"]["schemas"]
    lines = [
        "# Interface",
        "",
        "Every route, from the files that requests are checked against. For programs: `/openapi.json`.",
        "",
    ]
    for path, operations in openapi["paths"].items():
        for method, operation in operations.items():
            lines += [f"## {method.upper()} {path}", "", f"{operation['summary']} {operation['description']}", ""]
            for parameter in operation.get("parameters", []):
                lines.append(
                    f"- `{parameter['name']}` ({parameter['in']}): {parameter.get('description', 'as in the path')}"
                )
            if "requestBody" in operation:
                component = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                lines += ["", *_fields(components[component])]
            lines.append("")
    for name in sorted(name for name in components if name.endswith("Arguments")):
        lines += [f"## Arguments of {name.removesuffix('Arguments')}", "", *_fields(components[name]), ""]
    return "\n".join(lines)


def _fields(schema: Json) -> list[str]:
    rows = ["| Field | Must be | |", "|---|---|---|"]
    required = schema.get("required", [])
    for name, each in schema.get("properties", {}).items():
        text = str(each.get("description", "")).replace("|", "\\|").replace("\n", " ")
        rows.append(f"| `{name}`{' (required)' if name in required else ''} | {_type(each)} | {text} |")
    return rows


def _type(schema: Json) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)[:300]
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('.')[2]}`"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_type(each) for each in schema[several] if each != {"type": "null"}))
    kinds = schema.get("type", "any value")
    text = " or ".join(kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null")
    low, high = schema.get("minimum"), schema.get("maximum")
    return (
        f"{text} {'' if low is None else low} to {'' if high is None else high}"
        if (low, high) != (None, None)
        else text
    )
