"""`gateway serve`: chooses between serving in this process and supervising workers."""

import argparse
import importlib
from typing import cast

from gateway.cli.argument_types import Parsers, add_state_options
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Config
from gateway.runtime.service import ServiceMaker
from gateway.runtime.supervisor import Source, serve


def add_commands(parsers: Parsers) -> None:
    """Add `serve`."""
    parser = parsers.add_parser("serve", help="run the server")
    add_state_options(parser)
    parser.add_argument(
        "--supervised", action="store_true", help="serve in worker processes even if server.workers is 1"
    )
    parser.set_defaults(command=_serve)


def _serve(arguments: argparse.Namespace, environment: Environment) -> int:
    def reload() -> Config:
        return load_config(arguments.config, arguments.state_dir, environment)

    config = reload()
    has_workers = arguments.supervised or config.server.workers > 1
    service = "gateway.runtime.worker_pool:WorkerPool" if has_workers else "gateway.runtime.generation:SingleProcess"
    return serve(config, environment, Source(reload, _named(service), has_workers))


def _named(service: str) -> ServiceMaker:
    """The service `MODULE:CLASS`. By name: the module of one has the application and its engines in it, which a
    supervisor of workers must not load."""
    module, _, name = service.partition(":")
    return cast("ServiceMaker", getattr(importlib.import_module(module), name))
