"""`gateway serve` by hand, where an upstream is named that cannot be served; what starts is tried in `tests/flows`."""

import asyncio
from pathlib import Path

import pytest

from tests.support import upstream as up
from tests.support.gateway_process import run_command
from tests.support.gateways import upstream_toml
from tests.support.upstream import Upstream

OFF = "[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n[ops]\nport = 0\n"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--upstream", "localhost:8000/v1"], 2, "must begin with http:// or https://, such as http://local"),
        (["--upstream", "http://a/v1/chat/completions/"], 2, "the root of its API, http://a/v1 without /chat"),
        (["--upstream", "http://u:p@a/v1", "--upstream-model", "m"], 78, "base_url: must be an address such as"),
        (["--upstream", "http://127.0.0.1:1/v1"], 1, "does not tell which models it has (refused); correct it"),
        (["--upstream", "URL"], 1, "has 2 models; name one with --upstream-model: one, two"),
        (["--upstream", "URL/v2"], 1, "(status 404); correct it (most end in /v1)"),
        (["--upstream-model", "m"], 1, "--upstream URL, which is missing"),
        (["--config", "FILE", "--upstream", "URL", "--upstream-model", "m"], 78, "is here and named by --upstream"),
    ],
)
async def test_an_upstream_that_cannot_be_served_is_told_with_what_to_write(
    tmp_path: Path, upstream: Upstream, options: list[str], code: int, said: str
) -> None:
    missing = up.answer({"error": {"message": "no such path"}}, status=404)
    upstream.will(missing if "URL/v2" in options else up.answer({"data": [{"id": "one"}, {"id": "two"}]}))
    file = tmp_path / "gateway.toml"
    own = upstream_toml(upstream.url).replace('"SvcLLM"', '"My"\naliases = ["SvcLLM"]')
    file.write_text(OFF + own)
    words = [each.replace("URL", upstream.url).replace("FILE", str(file)) for each in options]
    done = await asyncio.to_thread(run_command, "serve", *words, "--state-dir", str(tmp_path / "state"))
    assert done.returncode == code and said in done.stderr, done.stderr
