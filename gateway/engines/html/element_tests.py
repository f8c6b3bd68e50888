"""Tests of single elements that selectors ask for: values of attributes, states of a page at rest. Pure."""

from typing import Any

from gateway.engines.html.selector_parts import AttributeTest, StateTest

_INPUTS = frozenset({"input", "select", "textarea"})


def has_value(test: AttributeTest, value: str) -> bool:
    """Whether the value of an attribute passes."""
    value = value.lower() if test.folded else value
    sought, operator = test.value, test.operator
    if operator == "=":
        return value == sought
    if operator == "|=":
        return value == sought or value.startswith(f"{sought}-")
    if not sought:
        return False
    if operator == "~=":
        return sought in value.split()
    if operator == "^=":
        return value.startswith(sought)
    return value.endswith(sought) if operator == "$=" else sought in value


def is_in_state(test: StateTest, element: Any) -> bool:
    """Whether an element is in a state in which no user has done anything."""
    name, tag = test.name, element.tag
    if name in ("root", "scope"):
        return element.getparent() is None
    if name == "empty":
        return len(element) == 0 and not element.text
    if name in ("link", "any-link"):
        return tag in ("a", "area") and element.get("href") is not None
    if name in ("checked", "default"):
        return element.get("checked") is not None or element.get("selected") is not None
    if name in ("disabled", "enabled"):
        is_control = tag in _INPUTS or tag in ("button", "option", "optgroup", "fieldset")
        return is_control and (element.get("disabled") is not None) == (name == "disabled")
    if name in ("required", "optional"):
        return tag in _INPUTS and (element.get("required") is not None) == (name == "required")
    if name == "open":
        return element.get("open") is not None
    is_writable = tag in ("input", "textarea") and element.get("readonly") is None
    is_writable = is_writable or element.get("contenteditable") in ("", "true")
    return is_writable == (name == "read-write")
