"""The container recipe: what it copies exists, what it runs is there, and what it sets is read by the program."""

import json
import re

from gateway.cli.main import parser
from gateway.config.environment import Environment
from gateway.config.settings import Ops, Server
from tests.support.paths import ROOT

RECIPE = re.sub(r"\\\n", " ", (ROOT / "Containerfile").read_text())


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", RECIPE, re.MULTILINE)


def test_everything_that_is_copied_exists() -> None:
    copied = [words.split()[:-1] for words in instructions("COPY") if "--from" not in words]
    paths = [path for words in copied for path in words]
    assert len(paths) >= 8
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_everything_that_the_program_is_built_from_is_copied() -> None:
    copied = " ".join(instructions("COPY")).split()
    folders = re.findall(r"^    gateway_\w+ = (\w+)$", (ROOT / "setup.cfg").read_text(), re.MULTILINE)
    assert {"gateway", "requirements", ".ci", "setup.cfg", "setup.py", "pyproject.toml", *folders} <= set(copied)


def test_its_command_is_one_of_the_program() -> None:
    (entry,), (command,) = instructions("ENTRYPOINT"), [each for each in instructions("CMD") if "serve" in each]
    assert json.loads(entry) == ["gateway"]
    arguments = parser("serve").parse_args(json.loads(command))
    assert arguments.supervised and str(arguments.config) == "/etc/gateway/gateway.toml"


def test_what_it_sets_is_read_by_the_program() -> None:
    variables = dict(pair.split("=", 1) for words in instructions("ENV") for pair in words.split())
    environment = Environment(variables)
    assert [str(path) for path in instructions("VOLUME")] == [str(environment.state_dir)]
    assert (str(environment.runtime_dir), str(environment.config_file)) == ("/run/gateway", "/etc/gateway/gateway.toml")
    assert variables["GATEWAY_HOST"] == "0.0.0.0"
    assert variables["CREDENTIALS_DIRECTORY"] == "/run/secrets"
    assert instructions("EXPOSE") == [str(Server().port)]
    assert f"http://127.0.0.1:{Ops().port}/readyz" in RECIPE
