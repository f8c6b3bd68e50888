"""What README and tutorial print works as it is pasted into a fresh shell, and the output they show is what comes.

Blocks of another kind than `sh` are for a machine of the reader's own.
"""

import asyncio
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gateway.cli.main import whole_parser
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import NEEDS_MODEL, start_process
from tests.support.hosted_search import round_of, search
from tests.support.model_clients import python_of
from tests.support.pasted import RUN_S, Block, blocks_of, here, make_clone, paste
from tests.support.paths import ROOT
from tests.support.upstream import Exchange, scripted_upstream

README = (ROOT / "README.md").read_text()
BLOCKS = blocks_of(README)
SHELL_BLOCKS = [block for block in BLOCKS if block.kind == "sh"]
TUTORIAL = blocks_of((ROOT / "docs/tutorial.md").read_text())
RECIPES = blocks_of((ROOT / "docs/recipes.md").read_text())

pytestmark = [pytest.mark.system, *NEEDS_MODEL]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with start_process(tmp_path_factory.mktemp("readme"), embedded=True) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def folder(gateway: GatewayProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clone(gateway, tmp_path_factory.mktemp("clone"))


@pytest.mark.parametrize("at", range(len(SHELL_BLOCKS)))
def test_a_block_of_commands_gives_the_output_that_is_shown(at: int, gateway: GatewayProcess, folder: Path) -> None:
    paste(SHELL_BLOCKS[at], gateway, folder)


def ended(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A program that ran to its end."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=RUN_S, check=False)


def test_the_python_of_the_readme_works(gateway: GatewayProcess, folder: Path) -> None:
    (source,) = [block.text for block in BLOCKS if block.kind == "python"]
    done = ended([sys.executable, "-c", here(source, gateway)], folder)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr[-2000:]


def test_every_command_of_the_table_exists() -> None:
    told = ended([sys.executable, "-m", "gateway"], ROOT).stdout
    for name in re.findall(r"`gateway ([\w-]+)", README):
        assert re.search(rf"^    {re.escape(name)}\b", told, re.MULTILINE) or name == "COMMAND", name


async def reader(exchange: Exchange) -> None:
    """A model that searches when it is asked to, reads what was found, and writes letters to whom it is told."""
    body = exchange.seen.body
    words = str([message["content"] for message in body["messages"] if message["role"] == "user"])
    assert "jane.doe" not in words
    if body["messages"][-1]["role"] == "tool":
        said: list[object] = ["PNG, JPEG, WebP and more [1]."]
    elif "Search, then answer" in words:
        said = [search("picture formats that OCR reads")]
    else:
        said = ["Dear [EMAIL_1], we meet on Friday." if "[EMAIL_1]" in words else "Hello!"]
    await round_of(*said, is_stream=body.get("stream", False))(exchange)  # type: ignore[arg-type]


@pytest.fixture
async def model_url() -> AsyncIterator[str]:
    async with scripted_upstream() as upstream:
        upstream.will(reader)
        yield upstream.url


async def test_the_tutorial_leads_from_a_clone_to_an_agent(tmp_path: Path, model_url: str) -> None:
    """Blocks without a kind are those of the first shell: the server is started, then started again with the file."""
    process = start_process(tmp_path, embedded=True)
    folder = make_clone(process, tmp_path)
    process.__enter__()
    try:
        for block in TUTORIAL:
            if block.kind in ("toml", "python"):
                name = block.text.partition("\n")[0].removeprefix("# ")
                text = here(block.text, process).replace("http://127.0.0.1:8000/v1", model_url)
                (folder / name).write_text(text)
            elif "make run CONFIG=gateway.toml" in block.text:
                process.__exit__(None, None, None)
                ports = f"[server]\nport = {process.port}\n[ops]\nport = {process.ops_port}\n"
                process.config.write_text(ports + (folder / "gateway.toml").read_text())
                process.__enter__()
            elif block.kind == "sh":
                await asyncio.to_thread(paste, block, process, folder)
    finally:
        process.__exit__(None, None, None)
    assert {block.kind for block in TUTORIAL} == {"", "sh", "text", "toml", "python"}


def test_the_recipe_for_langchain_chats_and_embeds(gateway: GatewayProcess, folder: Path) -> None:
    (source,) = [block.text for block in RECIPES if block.kind == "python"]
    (folder / "langchain.key").write_text(gateway.key)
    done = ended([python_of("clients"), "-c", here(source, gateway)], folder)
    assert done.stdout.strip().endswith(" 384"), done.stderr[-2000:]


@pytest.mark.parametrize("toml", [block.text for block in RECIPES if block.kind == "toml"])
def test_the_configuration_of_a_recipe_is_valid(toml: str, tmp_path: Path) -> None:
    (tmp_path / "gateway.toml").write_text(toml)
    names = re.findall(r'credential = "(\w+)"', toml)
    credentials = {f"GATEWAY_CREDENTIAL_{name.upper()}": "redis://a" for name in names}
    load_config(tmp_path / "gateway.toml", tmp_path, Environment(credentials))


def test_the_commands_of_recipes_exist_and_clients_are_printed(gateway: GatewayProcess, folder: Path) -> None:
    told = "".join(block.text for block in RECIPES)
    commands = re.findall(r"gateway ((?:client-config|keys|search|doctor|usage)[^\n#&|>]*)", told)
    for made in re.findall(r"gateway keys create .* > (\S+)", told):
        (folder / made).write_text(gateway.key)
    for command in commands:
        words = ["ID" if word == "ID" else word for word in shlex.split(command)]
        if words[0] == "client-config" and "--check" not in words:
            done = ended([sys.executable, "-m", "gateway", *words], folder)
            assert done.returncode == 0 and "GATEWAY_KEY" in done.stdout, done.stderr
        else:
            whole_parser().parse_args(words)
    assert len(commands) > 8


def test_blocks_are_told_from_their_outputs() -> None:
    assert blocks_of("```sh\na\n```\n\n```text\nb\n```\n") == [Block("sh", "a\n", "b\n"), Block("text", "b\n", "")]
