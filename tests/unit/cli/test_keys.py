"""`gateway keys`: limits of a key, and keys that move to Redis."""

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.access.keys import KeyFile
from gateway.cli.main import main
from gateway.config.environment import credential_variable
from tests.support.full_disk import files_end_at
from tests.support.redis_server import RedisServer, running_redis
from tests.support.used import use

Output = pytest.CaptureFixture[str]

CREATE = ["keys", "create", "--name", "agent", "--scope", "chat"]


def test_every_limit_of_a_key_can_be_given_and_is_listed(tmp_path: Path, capsys: Output) -> None:
    state = ["--state-dir", str(tmp_path)]
    limits = ["--per-minute", "60", "--concurrent", "4", "--tokens-per-minute", "10000", "--tokens-per-day", "200000",
              "--tool-calls-per-day", "50", "--spend-per-month", "12.50", "--per-user-tokens-per-day", "900",
              "--per-user-spend-per-day", "0.5"]  # fmt: skip
    assert main([*CREATE, *limits, *state]) == 0
    [record] = KeyFile(tmp_path / "keys.json").read()
    assert (record.per_minute, record.concurrent, record.tokens_per_minute) == (60, 4, 10_000)
    assert (record.tokens_per_day, record.tool_calls_per_day, record.spend_per_month) == (200_000, 50, 12.5)
    capsys.readouterr()
    assert main(["keys", "list", *state]) == 0
    line = capsys.readouterr().out
    shown = ("60 per minute", "4 concurrent", "last used", "10000 tokens per minute", "50 tool calls per day",
             "12.5 spend per month", "900 per user tokens per day", "0.5 per user spend per day")  # fmt: skip
    assert [each for each in shown if each not in line] == []
    assert main(["keys", "list", "--json", *state]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["id"], listed["scopes"], listed["spend_per_month"]) == (record.id, ["chat"], 12.5)
    assert record.sha256 not in str(listed)
    assert main(["keys", "rotate", record.id, *state]) == 0
    assert {each.spend_per_month for each in KeyFile(tmp_path / "keys.json").read()} == {12.5}


def test_a_key_is_edited_and_shown_with_what_it_has_used(tmp_path: Path, capsys: Output) -> None:
    state = ["--state-dir", str(tmp_path)]
    keys = KeyFile(tmp_path / "keys.json")

    def run(*words: str) -> str:
        assert main(["keys", *words, *state]) == 0
        return capsys.readouterr().out

    assert main([*CREATE, "--expires", "30d", "--per-minute", "5", "--tokens-per-day", "2000", *state]) == 0
    [record] = keys.read()
    asyncio.run(use(tmp_path, record.id))
    capsys.readouterr()
    run("edit", record.id, "--expires", "never", "--per-minute", "none", "--tool-calls-per-day", "0")
    run("edit", record.id, "--name", "other", "--scope", "ocr", "--scope", "chat", "--spend-per-month", "0.00000042")
    changed = dict(name="other", scopes=("ocr", "chat"), expires=None, per_minute=None)  # noqa: C408
    limits = dict(tool_calls_per_day=0, spend_per_month=4.2e-07)  # noqa: C408
    assert keys.read() == [replace(record, **changed, **limits)]  # type: ignore[arg-type]
    logged = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(each["action"], each["id"]) for each in logged[1:]] == [("edited", record.id)] * 2
    assert (logged[1]["tool_calls_per_day"], logged[2]["name"], logged[2]["scopes"]) == (0, "other", ["ocr", "chat"])
    shown = dict(line.split("  ", 1) for line in run("show", record.id).splitlines())
    told = {name: text.strip() for name, text in shown.items()}
    assert (told["name"], told["scopes"], told["expires"]) == ("other", "ocr, chat", "never")
    assert told["last used"] == time.strftime("%Y-%m-%d", time.gmtime())
    assert (told["per minute"], told["tokens per day"]) == ("no limit (configured)", "2000; 1703 used")
    assert (told["tool calls per day"], told["spend per month"]) == ("no limit; 0 used", "0.00000042; 0 used")
    as_json = run("show", record.id, "--json")
    assert record.sha256 not in as_json and json.loads(as_json)["used"]["tokens_per_day"] == 1_703
    assert main(["keys", "edit", record.id, *state]) == 1
    assert "nothing is to be changed" in capsys.readouterr().err
    run("edit", record.id, "--expires", "2d")
    assert keys.find(record.id).expires == pytest.approx(time.time() + 2 * 86_400, abs=60)
    run("revoke", record.id)
    assert main(["usage", *state]) == 0
    assert f"{record.id}  other " in capsys.readouterr().out
    run("erase", record.id)
    assert main(["keys", "erase", record.id, *state]) == 1
    assert "nothing was removed" in capsys.readouterr().err
    assert keys.ended() == {}


@pytest.mark.parametrize(("spend", "shown"), [(0, "0.0000"), (0.00000042, "0.00000042"), (0.0123456, "0.0123")])
def test_spend_below_a_cent_is_shown(tmp_path: Path, capsys: Output, spend: float, shown: str) -> None:
    asyncio.run(use(tmp_path, tool_price=spend / 4))
    assert main(["usage", "--state-dir", str(tmp_path)]) == 0
    assert {line.split()[-1] for line in capsys.readouterr().out.splitlines()[2:]} == {shown}


@pytest.mark.parametrize("value", ["-1", "1,5", "1.", "nan", "1e9", "€5", ""])
def test_a_sum_is_written_with_a_point_or_refused(value: str, capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main([*CREATE, f"--spend-per-month={value}"])
    assert "must be a sum, 0 or more, such as 12.50" in capsys.readouterr().err


@pytest.mark.slow
async def test_a_key_file_is_imported_into_redis_where_commands_work_and_every_change_is_in_the_audit_log(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_redis(tmp_path) as server:
        await asyncio.to_thread(_move, server, tmp_path, capsys, monkeypatch)
        assert len(await server.do("XRANGE", "gateway:keys:audit", "-", "+")) == 4


def _move(server: RedisServer, folder: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(credential_variable("redis"), server.url)
    old, config = folder / "old" / "keys.json", folder / "gateway.toml"
    assert main([*CREATE, "--keys-file", str(old)]) == 0
    assert (key := capsys.readouterr().out.split()[0]).startswith("gw_")
    config.write_text('[access]\nbackend = "redis"\n[shared]\nredis_url = { credential = "redis" }\n')
    there = ["--config", str(config), "--state-dir", str(folder / "state")]
    for told in ("1 of 1 keys were added", "0 of 1 keys were added"):
        assert main(["keys", "import", str(old), *there]) == 0
        assert told in capsys.readouterr().err
    assert main([*CREATE, *there]) == 0
    capsys.readouterr()
    assert main(["keys", "list", *there]) == 0
    ids = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
    moved = KeyFile(old).read()[0].id
    assert len(ids) == 2 and moved in ids
    assert main(["keys", "rotate", moved, *there]) == 0
    assert main(["keys", "revoke", moved, *there]) == 0
    assert not (folder / "state" / "keys.json").exists()
    logged = (folder / "state" / "audit.jsonl").read_text()
    lines = [json.loads(line) for line in logged.splitlines()]
    assert [line["action"] for line in lines] == ["imported", "created", "rotated", "revoked"]
    assert [line["id"] for line in lines[::3]] == [moved] * 2 and lines[2]["of"] == moved
    assert key not in logged and {"ts", "uid", "host", "name", "scopes"} <= lines[0].keys() and "sha256" not in logged


def test_a_full_disk_is_told_with_the_file_and_leaves_it_as_it_was(tmp_path: Path, capsys: Output) -> None:
    state = ["--state-dir", str(tmp_path)]
    assert main([*CREATE, *state]) == 0
    for name in ("keys.json", "audit.jsonl"):
        full = tmp_path / name
        if name == "audit.jsonl":  # it is written first
            full.write_bytes(full.read_bytes() * 20)
        before = full.read_bytes()
        capsys.readouterr()
        with files_end_at(len(before) + 20):
            assert main([*CREATE, *state]) == 1
        assert f"{full}: " in capsys.readouterr().err
        assert full.read_bytes() == before


def test_keys_and_usage_are_listed_without_the_secret_of_an_upstream(tmp_path: Path, capsys: Output) -> None:
    config = tmp_path / "gateway.toml"
    config.write_text(
        '[[models]]\nname = "m"\n[[models.upstreams]]\nbase_url = "http://127.0.0.1:1/v1"\n'
        'model = "m"\napi_key = { credential = "absent-upstream" }\n'
    )
    options = ["--config", str(config), "--state-dir", str(tmp_path)]
    assert main(["keys", "list", *options]) == 0
    assert "there are no keys" in capsys.readouterr().out
    assert main([*CREATE, *options]) == 0
    capsys.readouterr()
    assert main(["keys", "list", *options]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split("  ")[0] == "id" and "created" in header and "expires" in header and "never" in row
    assert main(["usage", *options]) == 0
