"""x"""

from gateway.cli.argument_types import Parsers


def add_commands(parsers: Parsers) -> None:
    """x"""
