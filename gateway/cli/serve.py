"""`gateway serve`: chooses between serving in this process and supervising workers.

What either needs is imported by name when it is known which: a supervisor of workers must not load the application. Its
fork server is forked as soon as everything is imported that it shares with the supervisor, and before the configuration
is read: the memory of what both need exists once, and the import of the rest decides how long a restart takes.
"""

import argparse
import gc
import importlib
import os
import sys
from functools import partial

from gateway.cli.options import Parsers, add_state_options, say
from gateway.config.environment import Environment, worker_environment
from gateway.domain import TEXT_MODEL
from gateway.errors import InvalidRequest
from gateway.runtime.fork_server import ForkServer, metrics_folder


def add_commands(parsers: Parsers) -> None:
    """Add `serve`."""
    parser = parsers.add_parser("serve")
    add_state_options(parser)
    parser.add_argument(
        "--supervised", action="store_true", help="serve in worker processes even if server.workers is 1"
    )
    text = f"serve the model there as {TEXT_MODEL}; its key is in $GATEWAY_CREDENTIAL_UPSTREAM"
    parser.add_argument("--upstream", type=_api_root, metavar="URL", help=text)
    parser.add_argument("--upstream-model", default="", metavar="NAME", help="its name there; default: the only one")
    parser.set_defaults(command=_serve)


_ROUTES = ("/chat/completions", "/completions", "/responses", "/messages", "/embeddings", "/models")


def _api_root(text: str) -> str:
    """An upstream's address without a slash at its end. Raises ArgumentTypeError."""
    url = text.rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"must begin with http:// or https://, such as http://{url}")
    for route in _ROUTES:
        if url.endswith(route):
            raise argparse.ArgumentTypeError(f"must be the root of its API, {url.removesuffix(route)} without {route}")
    return url


def _serve(arguments: argparse.Namespace, environment: Environment) -> int:
    for descriptor in (*environment.listen_fds, *environment.handover):
        os.set_inheritable(descriptor, False)  # systemd and a predecessor pass them so that every child would have them
    gc.disable()  # as in the fork server: next to nothing of an import is garbage
    if environment.handover:
        importlib.import_module("gateway.runtime.control").leave_parent()
    prepare = importlib.import_module("gateway.runtime.prepare")
    own_model = ""
    if arguments.upstream is not None:
        asked = (arguments.upstream, arguments.upstream_model, environment)
        # in a child, since what this imports would stay in this process
        own_model = prepare.in_child(lambda: importlib.import_module("gateway.cli.upstream").as_toml(*asked))
    elif arguments.upstream_model:
        raise InvalidRequest("--upstream-model names a model of --upstream URL, which is missing")
    read = partial(prepare.prepare, arguments.config, arguments.state_dir, environment, own_model=own_model)
    supervisor = importlib.import_module("gateway.runtime.supervisor")
    first, reload, fork_server = partial(read, is_first=True), read, None
    if arguments.supervised:
        importlib.import_module("gateway.runtime.workers")
        folder = metrics_folder(environment, arguments.state_dir or environment.state_dir)
        fork_server = ForkServer.forked(worker_environment(environment, folder))
        first, reload = partial(prepare.in_child, first), partial(prepare.in_child, read)
    config = first()
    if own_model:
        say(f"\n--upstream is the same as these lines in a file for --config:\n\n{own_model}\n", sys.stderr)
    has_workers = arguments.supervised or config.server.workers > 1
    if has_workers:
        make_service = partial(importlib.import_module("gateway.runtime.workers").WorkerPool, fork_server=fork_server)
    else:
        make_service = importlib.import_module("gateway.runtime.worker").SingleProcess
    gc.freeze()
    gc.enable()
    code: int = supervisor.serve(
        config, environment, supervisor.SupervisorSource(reload, make_service, has_workers, arguments.config)
    )
    return code
