"""`gateway llm-server` and `ocr-server`: one embedded engine alone, on loopback. `embedded.servers` starts them."""

import argparse

from gateway.cli.options import Parsers, count, port
from gateway.config.environment import Environment
from gateway.embedded import llm_server
from gateway.ocr.server import app as ocr_server


def add_commands(parsers: Parsers) -> None:
    """Add `llm-server` and `ocr-server`."""
    llm = parsers.add_parser("llm-server")
    llm.add_argument("--port", type=port, required=True)
    llm.add_argument("--model", default="", metavar="FILE.gguf", help="default: the packaged one")
    llm.add_argument("--threads", type=count, default=0, help="0 = half as many as cores")
    llm.set_defaults(command=_llm_server)
    ocr = parsers.add_parser("ocr-server")
    ocr.add_argument("--port", type=port, required=True)
    ocr.add_argument("--threads", type=count, default=0, help="0 = as many as cores")
    ocr.add_argument("--nice", type=count, default=0, help="nice value of the process that reads (default 0)")
    ocr.set_defaults(command=_ocr_server)


def _llm_server(arguments: argparse.Namespace, environment: Environment) -> int:
    llm_server.serve(arguments.port, arguments.model, arguments.threads)
    return 0


def _ocr_server(arguments: argparse.Namespace, environment: Environment) -> int:
    ocr_server.serve(arguments.port, arguments.threads, arguments.nice)
    return 0
