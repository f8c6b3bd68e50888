"""The operations listener: what callers reach of it, whom it answers, and what it tells the operator."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.asking import call_tool
from tests.support.gateways import Gateway, Serve, start_process

LIMIT_S = 20
WITHOUT_EMBEDDED = "[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n"


async def asked(server: Gateway, path: str, **headers: str) -> tuple[int, str]:
    """Status and text of a request to the operations listener. `Host=""` sends none."""
    lines = [f"GET {path} HTTP/1.{'1' if headers.get('Host', 'x') else '0'}"]
    headers.setdefault("Host", server.ops_url.removeprefix("http://"))
    lines += [f"{name}: {value}" for name, value in headers.items() if value] + ["Connection: close"]
    async with asyncio.timeout(LIMIT_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.ops_url.rpartition(":")[2]))
        writer.write("\r\n".join([*lines, "", ""]).encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    return int(head.split()[1]), body.decode()


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["embedded", "production"])
async def test_a_caller_reads_the_documentation_and_never_the_metrics(serve: Serve, profile: str) -> None:
    allow = "" if profile == "embedded" else "[search]\nprovider = 'searxng'\nbase_url = 'http://127.0.0.1:9'\n"
    server = await serve(f"{WITHOUT_EMBEDDED}{allow}[web]\nallow_private = ['127.0.0.0/8', '::1/128']\n")
    docs = [server.ops_url + "/docs/errors", server.ops_url.replace("127.0.0.1", "localhost") + "/docs/operations"]
    inside = [
        server.ops_url.replace("127.0.0.1", host) + path
        for host in ("127.0.0.1", "localhost", "127.0.0.2")
        for path in ("/metrics", "/docs/../metrics", "/readyz")
    ]
    _, data = await call_tool(server, "extract", {"urls": [*docs, *inside]})
    assert [each["url"] for each in data["results"]] == docs
    assert len(data["failed_results"]) == len(inside)
    assert "gateway_requests_total{" not in json.dumps(data)  # the documentation has the name, the metrics its values


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:1", "localhost:9464", "LOCALHOST", "localhost.", "[::1]:80", "127.9.9.9", ""]
)
async def test_the_listener_answers_to_its_own_hosts_on_any_port(server: Gateway, host: str) -> None:
    assert (await asked(server, "/healthz", Host=host))[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "[::2]", "127.0.0.1:x", "@"],
)
@pytest.mark.parametrize("path", ["/metrics", "/docs/", "/nowhere"])
async def test_a_page_with_a_rebound_name_reads_nothing(server: Gateway, path: str, host: str) -> None:
    status, text = await asked(server, path, Host=host)
    assert status == 403 and "ops.allowed_hosts" in text


async def test_an_origin_must_be_the_listeners_own(server: Gateway) -> None:
    own = server.ops_url.removeprefix("http://")
    for origin in (f"http://{own}", f"https://{own}"):
        assert (await asked(server, "/metrics", Origin=origin))[0] == 200
    others = ("evil.example", f"evil.example:{own}", "127.0.0.1:1", "localhost")
    for origin in ("null", *(f"http://{other}" for other in others)):
        status, text = await asked(server, "/metrics", Origin=origin)
        assert status == 403 and "Origin" in text, origin


async def test_hosts_that_the_operator_lists_are_answered(tmp_path: Path) -> None:
    process = start_process(tmp_path)
    process.config.write_text(process.config.read_text().replace("[ops]\n", "[ops]\nallowed_hosts = ['gw.internal']\n"))
    async with process, aiohttp.ClientSession() as session:
        for host, status in (("gw.internal:9464", 200), ("other.internal", 403)):
            async with session.get(process.ops_url + "/healthz", headers={"Host": host}) as answer:
                assert answer.status == status


async def test_a_removed_key_file_shuts_nobody_out_and_stands_in_the_readiness(tmp_path: Path) -> None:
    async with start_process(tmp_path) as gateway:
        key_file = gateway.state_dir / "keys.json"
        assert "notes" not in json.loads((await gateway.get("/readyz", ops=True))[1])
        good = key_file.read_bytes()
        key_file.unlink()
        line = await _after_a_look(gateway)
        assert line["level"] == "error" and line["kept"] == 1
        status, text = await gateway.get("/readyz", ops=True)
        assert status == 200 and "gateway keys create" in json.loads(text)["notes"][0]
        assert (await gateway.get("/v1/models"))[0] == 200
        key_file.write_bytes(good)
    async with gateway:
        pass
    key_file.unlink()
    gateway.start()
    assert await gateway.wait_exit() == 78
    assert "access.keys_file" in gateway.output() and "gateway keys create" in gateway.output()
    assert not key_file.exists()


async def _after_a_look(gateway: Any) -> dict[str, Any]:
    """The log line of the first request that finds the file gone: it is looked at once a second."""
    async with asyncio.timeout(LIMIT_S):
        while not gateway.events("keys_unreadable"):
            assert (await gateway.get("/v1/models"))[0] == 200
    line: dict[str, Any] = gateway.events("keys_unreadable")[0]
    return line


async def test_a_start_without_the_key_file_that_is_named_fails(tmp_path: Path) -> None:
    gateway = start_process(tmp_path, "[access]\nkeys_file = 'team.json'\n")
    gateway.start()
    assert await gateway.wait_exit() == 78
    assert "team.json" in gateway.output() and "Traceback" not in gateway.output()
    made = gateway.command("keys", "create", "--config", str(gateway.config), "--name", "a", "--scope", "chat")
    assert made.returncode == 0, made.stderr
    async with gateway:
        assert not (gateway.state_dir / "dev-key").exists()
