"""How a command finds the running gateway and its key: options, then variables, then configuration and state directory.

| what    | first       | then           | else                                                        |
|---------|-------------|----------------|-------------------------------------------------------------|
| address | `--url`     | `$GATEWAY_URL` | that of the configuration, by default http://127.0.0.1:8080 |
| key     | `--key`     | `$GATEWAY_KEY` | the file `dev-key` of the state directory                   |
"""

import argparse
from dataclasses import dataclass, field

from gateway.cli.argument_types import add_state_options
from gateway.cli.client_config import KEY_VARIABLE, own_url
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.embedded.servers import dev_key_path
from gateway.errors import InvalidRequest

URL_VARIABLE = "GATEWAY_URL"
NO_ANSWER = "start `gateway serve`, or give its address with --url"
"""What to do where a gateway cannot be reached."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A running gateway: `url` without a slash at its end, and a key for it."""

    url: str
    key: str = field(repr=False)


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Add `--url`, `--key`, `--config` and `--state-dir`."""
    parser.add_argument(
        "--url", help=f"address of the gateway; default: ${URL_VARIABLE}, else that of the configuration"
    )
    parser.add_argument("--key", help=f"default: ${KEY_VARIABLE}, else the contents of STATE_DIR/dev-key")
    add_state_options(parser)


def connection(arguments: argparse.Namespace, environment: Environment) -> Connection:
    """The gateway that the arguments, the variables and the configuration name.

    Raises InvalidRequest where there is no key, ConfigError for a configuration that is wrong.
    """
    url = arguments.url or environment.variables.get(URL_VARIABLE)
    key = arguments.key or environment.variables.get(KEY_VARIABLE)
    state_dir = arguments.state_dir or environment.state_dir
    if not url or (not key and arguments.config is not None):
        config = load_config(arguments.config, arguments.state_dir, environment)
        url, state_dir = url or own_url(config.server), config.state_dir
    if not key:
        file = dev_key_path(state_dir)
        if not file.is_file():
            raise InvalidRequest(
                f"there is no key in {file}; give --key, set {KEY_VARIABLE}, or name its folder with --state-dir"
            )
        key = file.read_text().strip()
    return Connection(url.rstrip("/"), key)
