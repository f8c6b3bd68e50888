"""`check-config`, `print-config` and `doctor`: what they say of a file, its unit and the machine."""

import asyncio
import json
import os
import shutil
import socket
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest

from gateway.access.keys import KeyFile, KeyRequest
from gateway.access.private_files import STARTED_WITH
from gateway.cli.main import main
from tests.support.connect_proxy import ConnectProxy, PrivateAuthority
from tests.support.ports import free_port
from tests.support.redis_server import running_redis
from tests.support.upstream import Script, answer, raw, scripted_upstream, silent
from tests.support.waiting import until

Output = pytest.CaptureFixture[str]
KEY = "not-a-real-key"
WHERE = "models[0].upstreams[0]"
ITS_UPSTREAM = "SvcLLM: its upstream"
HAS_OWN = any((Path(each) / "gateway.socket").exists() for each in ("/etc/systemd/system", "/usr/lib/systemd/system"))
"""Whether a gateway is installed on this machine, whose units are looked at too."""


class Machine:
    """A configuration and unit files below `folder`."""

    def __init__(self, folder: Path, capsys: Output) -> None:
        self.file, self.units, self.state = folder / "gateway.toml", folder / "units", folder / "state"
        self.credential, self.service = folder / "llm", self.units / "gateway.service"
        self._capsys = capsys
        self.units.mkdir()
        self.state.mkdir(mode=0o700)
        self.credential.write_text(f"{KEY}\n")
        self.credential.chmod(0o600)
        self.write()
        self.unit()
        self.socket("127.0.0.1:8080")
        KeyFile(self.state / "keys.json").create(KeyRequest("one", ("chat",)))

    def write(self, text: str = "", upstream: str = "http://127.0.0.1:1/v1") -> None:
        off = "[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n"
        keys = f'base_url = "{upstream}"\nmodel = "m"\napi_key = {{ credential = "llm" }}\n'
        self.file.write_text(f'{off}[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\n{keys}{text}')
        self.file.chmod(0o644)

    def unit(self, more: str = "TimeoutStopSec=150\n") -> None:
        text = f"ExecStart=/opt/gateway serve --config {self.file}\nLoadCredential=llm:{self.credential}\n{more}"
        self.service.write_text(f"[Service]\n{text}")

    def socket(self, *listens: str) -> None:
        lines = "".join(f"ListenStream={each}\n" for each in listens)
        (self.units / "gateway.socket").write_text(f"[Socket]\n{lines}")

    def said(self, command: str, *options: str, code: int | None = None) -> str:
        """All that a command says, which ends with this code."""
        ended = main([command, str(self.file), "--unit-dir", str(self.units), *options])
        assert code in (ended, None)
        return "".join(self._capsys.readouterr())

    def checked(self, code: int = 0) -> str:
        return self.said("check-config", code=code)

    def doctor(self, *options: str, code: int | None = None) -> str:
        return self.said("doctor", *options, code=code)


def told_of(told: str, what: str = ITS_UPSTREAM) -> str:
    """The only line with these words, and what mends it."""
    lines = told.splitlines()
    [at] = [number for number, line in enumerate(lines) if what in line]
    return " ".join((lines[at], *(each for each in lines[at + 1 : at + 2] if "mend:" in each)))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> Machine:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    return Machine(tmp_path, capsys)


def test_a_file_is_checked_as_its_unit_would_read_it(machine: Machine) -> None:
    assert machine.checked() == f"{machine.file}: ok\n"
    machine.unit("LoadCredentialEncrypted=more:/etc/sealed\nTimeoutStopSec=150\n")
    assert "not checked: credentials more" in machine.checked()
    machine.unit("TimeoutStopSec=130\n")
    assert "server.drain_s: the unit would kill the gateway" in machine.checked(78)
    machine.credential.unlink()
    assert "credential 'llm'" in machine.checked(78)


@pytest.mark.parametrize("is_a_service", [True, False])
def test_a_setting_that_has_no_effect_any_more_is_a_warning_with_its_remedy(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, is_a_service: bool
) -> None:
    machine.write('tools = "prompt"\n')
    if not is_a_service:
        machine.service.unlink()
        monkeypatch.setenv("GATEWAY_CREDENTIAL_LLM", KEY)
    assert "models[0].upstreams[0].tools has no effect any more" in (said := machine.checked())
    assert "--tool-call-parser" in said


@pytest.mark.parametrize(
    ("listens", "said"),
    [
        (["127.0.0.1:9000"], "but the service listens on 127.0.0.1:9000"),
        (["127.0.0.1:8080", "127.0.0.1:9000"], "has 2 ListenStream"),
        (["8080"], "but the service listens on 8080"),
        ([], "there is no gateway.socket"),
    ],
)
def test_no_socket_unit_or_one_of_another_address_is_a_warning(machine: Machine, listens: list[str], said: str) -> None:
    machine.socket(*listens)
    if not listens:
        (machine.units / "gateway.socket").unlink()
    assert said in machine.checked() or (HAS_OWN and not listens)


def test_a_file_of_no_unit_is_checked_alone_and_shown_without_secrets(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    machine.service.unlink()
    assert "credential 'llm' is missing" in machine.checked(78)
    monkeypatch.setenv("GATEWAY_CREDENTIAL_LLM", KEY)
    machine.checked()
    assert main(["print-config", str(machine.file)]) == 0
    shown = capsys.readouterr().out
    assert "llm" in shown.split("api_key")[1].splitlines()[0] and KEY not in shown


async def test_the_doctor_finds_nothing_wrong_with_what_is_sound(machine: Machine) -> None:
    async with scripted_upstream() as upstream:
        upstream.will(answer(listing("other", "m")))
        with socket.create_server(("127.0.0.1", 0)) as searx:
            port = searx.getsockname()[1]
            machine.write(f"[search]\nprovider = 'searxng'\nbase_url = 'http://127.0.0.1:{port}'\n", upstream.url)
            said = await asyncio.to_thread(machine.doctor)
    assert f"ok    {ITS_UPSTREAM} at {upstream.url[7:-3]} answers and lists the model" in said
    assert upstream.last.path == "/v1/models" and upstream.last.headers["authorization"] == f"Bearer {KEY}"
    assert f"ok    {machine.file} is valid for {machine.service}" in said
    assert "ok    127.0.0.1:" in said and "accepts connections" in said
    assert f"ok    1 keys in {machine.state / 'keys.json'}" in said
    assert "ok    0 files in" in said and "ok    the extra [web] is installed" in said


def test_the_doctor_names_each_fault_and_its_remedy(machine: Machine) -> None:
    machine.write(upstream="https://127.0.0.1:1/v1")
    machine.socket("127.0.0.1:9000")
    machine.file.chmod(0o600)
    machine.credential.chmod(0o644)
    (machine.state / "keys.json").write_text('{"keys": []}')
    (machine.state / "keys.json").chmod(0o644)
    said = machine.doctor(code=1)
    remedies = (f"chmod 0644 {machine.file}", f"chmod 0600 {machine.credential}", "chmod -R go= ", "make server.host")
    assert [remedy for remedy in remedies if f"mend: {remedy}" not in said] == []
    found = [json.loads(line) for line in machine.doctor("--json", code=1).splitlines()]
    assert found[0]["ok"] and not found[0]["remedy"]
    assert any(not each["ok"] and each["remedy"] == f"chmod 0600 {machine.credential}" for each in found)


def listing(*names: str) -> dict[str, object]:
    return {"object": "list", "data": [{"id": name} for name in names]}


def refusal(status: int) -> Script:
    """Which repeats the key wherever it can."""
    return answer({"error": {"message": f"Incorrect API key: {KEY}", "type": KEY, "code": KEY}}, status=status)


@pytest.mark.parametrize(
    ("upstream", "settings", "is_right", "said"),
    [
        (refusal(401), "", False, ("did not accept the gateway's key (status 401)", "right key into CREDENTIAL, then")),
        (refusal(403), "", False, ("(status 403)", "give its key the right to this model there")),
        (refusal(402), "", False, ("has no credit (status 402)", "must add some")),
        (refusal(429), "", False, ("(status 429)", "its quota is used up")),
        (refusal(500), "", False, ("the upstream failed (500)", "look at the log of the upstream")),
        (answer(b"", status=301, Location="/v2"), "", False, ("redirect", "the address that it leads to")),
        (refusal(404), "", True, ("could not be read (status 404)", f"correct {WHERE}.base_url, which mostly ends")),
        (answer(b"<html>", kind="text/html; charset=utf-8"), "", False, ("a web page, not JSON", "leads to a site")),
        (answer(b"soon"), "", True, ("could not be read", f"correct {WHERE}.base_url")),
        (answer({"models": [{"name": "m"}]}), "", True, ("could not be read",)),
        (answer(listing("n", KEY)), "", False, ("not list m", f"into {WHERE}.model; it lists 2, among them [hidden]")),
        (answer(listing()), "", False, ("it does not list m", "it lists 0")),
        (answer(listing("n")), "parameters = { preset = 'llama.cpp' }\n", True, ("it does not list m",)),
        (answer(listing("models/m")), "", True, ("lists the model",)),
        (answer(listing("m:latest")), "", True, ("lists the model",)),
        (raw(b"SSH-2.0-OpenSSH_9.2\r\n"), "", False, ("is not valid HTTP", "look at")),
        (raw(b""), "", False, ("(disconnected)", f"correct scheme and port of {WHERE}.base_url")),
        ("http://127.0.0.1:1/v1", "", False, ("(refused)", "nobody listens there: start it, or correct the port in")),
        ("http://far.invalid/v1", "", False, ("(dns)", f"no machine has this name: correct {WHERE}.base_url")),
        ("https://far.invalid/v1", "proxy = 'http://127.0.0.1:1'\n", False, ("the proxy before it", f"{WHERE}.proxy")),
    ],
)  # fmt: skip
async def test_the_doctor_says_what_is_wrong_with_an_upstream_and_never_the_key(
    machine: Machine, upstream: Script | str, settings: str, is_right: bool, said: tuple[str, ...]
) -> None:
    """`upstream`: what it answers, or its address where nobody does."""
    async with scripted_upstream() as here:
        if not isinstance(upstream, str):
            here.will(upstream)
        machine.write(settings, upstream if isinstance(upstream, str) else here.url)
        line = told_of(await asyncio.to_thread(machine.doctor))
    assert line.startswith("ok    " if is_right else "WRONG "), line
    assert all(words.replace("CREDENTIAL", str(machine.credential)) in line for words in said), line
    assert KEY not in line


@pytest.mark.parametrize(
    ("script", "fault", "is_right", "said"),
    [
        (answer(listing("m")), "status 401 invalid_api_key: bad key", False, ("right key into CREDENTIAL, then",)),
        (answer(listing("m")), "status 500", False, ("look at the log of the upstream",)),
        (answer(listing("m")), "timeout", False, (f"it is silent: see {WHERE}.base_url",)),
        (answer(listing("m")), "refused", True, ("lists the model",)),
        (refusal(404), "status 404 not_found", False, ("could not be read", f"correct {WHERE}.base_url")),
        (refusal(403), "status 401", False, ("(status 403)", "give its key the right to this model there")),
    ],
)  # fmt: skip
async def test_the_doctor_adds_what_an_upstream_said_last_to_what_it_says_now(
    machine: Machine, script: Script, fault: str, is_right: bool, said: tuple[str, ...]
) -> None:
    """The gateway's own answers are scripted too."""
    other = "keys in Redis cannot be read"
    notes = [f"upstream upstream-1 of SvcLLM failed last, and none answers: {fault}", other]
    async with scripted_upstream() as upstream, scripted_upstream() as product, scripted_upstream() as ops:
        upstream.will(script)
        ops.will(answer({"status": "ready", "notes": notes}))
        ports = [urlsplit(each.url).port for each in (product, ops)]
        machine.write("[server]\nport = {}\n[ops]\nport = {}\n".format(*ports), upstream.url)
        told = await asyncio.to_thread(machine.doctor)
    line = told_of(told, "SvcLLM")
    assert line.startswith("ok") is is_right and f"; its last call failed: {fault}" in line, told
    assert all(words.replace("CREDENTIAL", str(machine.credential)) in line for words in said), line
    assert "mend: journalctl -u gateway -p warning" in told_of(told, f"WRONG note: {other}")
    assert "the gateway answers at" in told and product.connections and not product.seen


async def test_the_doctor_says_that_an_upstream_wants_a_key_and_that_another_file_is_served(machine: Machine) -> None:
    machine.service.unlink()
    (machine.state / STARTED_WITH).write_text("/srv/other.toml")
    async with scripted_upstream() as upstream, scripted_upstream() as product:
        upstream.will(refusal(401))
        product.will(answer({}))
        machine.write(f"[server]\nport = {urlsplit(product.url).port}\n", upstream.url)
        machine.file.write_text(machine.file.read_text().replace('api_key = { credential = "llm" }', ""))
        told = await asyncio.to_thread(machine.doctor)
    assert f'mend: it wants a key: {WHERE}.api_key = {{ credential = "NAME" }}' in told_of(told)
    assert told_of(told, "was started with /srv/other.toml").startswith("WRONG")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("host", "name", "days", "is_trusted", "said"),
    [
        ("localhost", "localhost", 2, True, ("lists the model",)),
        ("localhost", "localhost", 2, False, ("of an unknown authority", "must name it in ca_file")),
        ("localhost", "localhost", -1, True, ("certificate has expired", "must be renewed there")),
        ("localhost", "other.example", 2, True, ("is for another name", "must write that name into base_url")),
        ("127.0.0.1", "other.example", 2, True, ("is for another name", "must write that name into base_url")),
        ("127.0.0.1", "other.example", 2, False, ("of an unknown authority", "must name it in ca_file")),
    ],
)
async def test_the_doctor_looks_at_the_certificate(
    machine: Machine, tmp_path: Path, host: str, name: str, days: int, is_trusted: bool, said: tuple[str, ...]
) -> None:
    authority = PrivateAuthority(tmp_path)
    async with scripted_upstream(authority.server_context(name, days)) as upstream, ConnectProxy() as proxy:
        upstream.will(answer(listing("m")))
        trusted = f"ca_file = '{authority.file}'\n" if is_trusted else ""
        machine.write(f"proxy = '{proxy.url}'\n{trusted}", upstream.url.replace("localhost", host))
        line = told_of(await asyncio.to_thread(machine.doctor))
    assert all(words in line for words in said) and proxy.heads[0].startswith(f"CONNECT {host}:"), line


@pytest.mark.slow
async def test_the_doctor_asks_all_upstreams_at_once_as_each_wants_to_be_asked(machine: Machine) -> None:
    async with scripted_upstream() as quiet, scripted_upstream() as native:
        quiet.will(silent(quiet))
        native.will(answer(listing("claude-opus-5")))
        more = "".join(
            f"[[models]]\nname = '{name}'\n[[models.upstreams]]\nname = 'b'\nbase_url = '{url}'\n{settings}"
            for name, url, settings in (
                ("two", quiet.url, "model = 'm'\n"),
                ("claude-*", native.url, "messages = 'native'\napi_key = { credential = 'llm' }\n"),
            )
        )
        machine.write(more, quiet.url)
        asking = asyncio.ensure_future(asyncio.to_thread(machine.doctor, "--json"))
        await until(lambda: len(quiet.seen) == 2, 9)  # the first of the two is silent for 10 s
        told = [json.loads(line) for line in (await asking).splitlines()]
    silences = [each for each in told if "(timeout)" in each["text"]]
    assert len(silences) == 2 and all("it is silent: see models[" in each["remedy"] for each in silences)
    assert [each["ok"] for each in told if each["text"].startswith("claude-*: b at ")] == [True]
    assert native.last.headers["x-api-key"] == KEY and native.last.headers["anthropic-version"]
    assert native.last.path.startswith("/v1/models?limit=")


@pytest.mark.parametrize("sealed", ["LoadCredentialEncrypted=llm:/etc/sealed\n", "SetCredential=llm:x\n"])
def test_an_upstream_whose_credential_is_sealed_is_not_asked_with_another_one(machine: Machine, sealed: str) -> None:
    machine.service.write_text(
        f"[Service]\nExecStart=/opt/gateway serve --config {machine.file}\nTimeoutStopSec=150\n{sealed}"
    )
    assert "was not asked: credential 'llm' cannot be read here" in told_of(machine.doctor())


@pytest.mark.parametrize(
    ("copy", "is_told"), [(f"{KEY}\n", False), (KEY, False), ("the-old-key", True), (None, True), ("no folder", False)]
)
def test_a_credential_that_has_changed_since_the_start_asks_for_a_restart(
    machine: Machine, tmp_path: Path, copy: str | None, is_told: bool
) -> None:
    copies = tmp_path / "copies"
    if copy != "no folder":
        copies.mkdir(mode=0o500)
    if copy not in (None, "no folder"):
        (copies / "llm").write_text(copy)
    said = machine.doctor("--copies", str(copies))
    told = "WRONG the service was started with another credential 'llm'\n      mend: systemctl restart gateway.service"
    assert (told in said) is is_told and KEY not in said and "the-old-key" not in said


HOSTS = (("a", "true"), ("b", "false"))
NO_HOSTS = (("a", "a..b"), ("b", "-"))


def test_the_doctor_tells_what_others_may_read_by_configuration(machine: Machine) -> None:
    hosts = "".join(f"[[web.hosts]]\nhost = '{name}'\nplain_http = {on}\n" for name, on in HOSTS)
    machine.write(f"{hosts}[shared]\nredis_url = {{ credential = 'llm' }}\n")
    said = machine.doctor()
    assert "web.hosts[0].plain_http: headers for a go over http too" in said and "web.hosts[1]" not in said
    assert "access.seal" in said


@pytest.mark.parametrize(("setting", "is_off"), [("", False), ("enabled = 'off'", True), ("model = 'other'", True)])
def test_the_doctor_says_what_a_guardrail_adds_where_none_runs(machine: Machine, setting: str, is_off: bool) -> None:
    machine.write(f"[guardrail]\n{setting}\n")
    assert ("ok    The guardrail is off: " in machine.doctor()) is is_off


@pytest.mark.parametrize(
    ("secret", "what"), [("", "credential 'llm' is empty"), (None, "credential 'llm': there is no")]
)
def test_the_doctor_names_the_file_of_a_missing_credential(machine: Machine, secret: str | None, what: str) -> None:
    machine.credential.unlink()
    if secret is not None:
        machine.credential.write_text(secret)
    told = machine.doctor(code=1)
    remedy = f"mend: write the secret into {machine.credential}, mode 0600, then: systemctl restart gateway.service"
    assert told_of(told, what).startswith("WRONG") and remedy in told_of(told, what)
    assert "was not asked: credential 'llm'" in told_of(told) and "ok    1 keys in" in told


def test_the_doctor_goes_no_further_than_a_file_that_is_wrong(machine: Machine) -> None:
    machine.write("wrong = 1\n")
    said = machine.doctor(code=1)
    assert f"edit {machine.file}" in said and "1 check, 1 wrong" in said


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (ZeroDivisionError(), "WRONG the check of disk broke off (ZeroDivisionError)\n      mend: report it"),
        (PermissionError(13, "no", "/var/a"), "WRONG only root can read /var/a\n      mend: sudo gateway doctor\n"),
    ],
)
def test_what_no_check_can_bear_costs_that_check_alone(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, error: Exception, what: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", Mock(side_effect=error))
    hosts = "".join(f"[[mcp_servers]]\nlabel = '{label}'\nurl = 'http://{host}/'\n" for label, host in NO_HOSTS)
    machine.write(hosts, "http://a..b/v1")
    told = machine.doctor("--url", "http://127.0.0.1:99010")
    assert what in told and "ok    1 keys in" in told
    assert "no gateway answers at http://127.0.0.1:99010 (" in told
    assert "WRONG a..b:80 does not answer" in told and "WRONG -:80 does not" in told
    assert told_of(told, "SvcLLM: its upstream at a..b:80").startswith("WRONG")


def test_a_file_that_does_not_exist_is_told(machine: Machine) -> None:
    machine.service.unlink()
    machine.file.unlink()
    said = machine.doctor(code=1)
    assert f"{machine.file} does not exist" in said and "gateway doctor FILE" in said


@pytest.mark.parametrize("broken", ["not JSON", None], ids=["damaged", "gone"])
def test_the_doctor_says_when_the_keys_cannot_be_read(machine: Machine, broken: str | None) -> None:
    keys = machine.state / "keys.json"
    keys.unlink()
    if broken is not None:
        keys.write_text(broken)
    said = machine.doctor()
    assert "mend: restore it" in said if broken else "0 keys" in said or "restore it" in said


def test_the_doctor_looks_at_a_gateway_without_a_service(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.service.unlink()
    monkeypatch.setenv("STATE_DIRECTORY", str(machine.state / "none"))
    said = machine.doctor("--url", f"http://127.0.0.1:{free_port()}", code=1)
    assert "it is started by hand" in said and "does not exist" in said and "make install-service" not in said
    assert "no gateway answers at http://" in said
    assert "or the variable GATEWAY_CREDENTIAL_LLM" in told_of(said, "'llm' is missing")


def test_check_config_tells_every_fault_of_the_file_and_looks_at_no_override(
    machine: Machine, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_PORT", "70000")
    monkeypatch.setenv("GATEWAY_CONFIG", str(machine.file))
    machine.file.write_text('wrong = 1\n[server]\nport = 99999\n[log]\nlevel = "loud"\n')
    assert main(["check-config"]) == 78
    said = capsys.readouterr().err
    assert "server.port" in said and "log.level" in said and "wrong" in said and "GATEWAY_PORT" not in said
    machine.file.write_text("[server]\nport = 8081\n")
    assert main(["check-config", "--json"]) == 0 and json.loads(capsys.readouterr().out)["ok"] is True
    machine.write('[search]\nprovider = "brave"\n')
    assert main(["check-config", "--json"]) == 78
    [told] = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert len(told["errors"]) == 2 and "llm" in told["errors"][0] and "search.api_key" in told["errors"][1]


@pytest.mark.parametrize(("word", "meant"), [("serch", "search"), ("kyes", "keys"), ("zzzz", "")])
def test_a_close_miss_of_a_command_is_helped(word: str, meant: str, capsys: Output) -> None:
    with pytest.raises(SystemExit) as ended:
        main([word])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and f"there is no command '{word}'" in said
    assert (f"did you mean {meant}?" in said) if meant else "did you mean" not in said


def test_the_help_lists_first_what_people_use_and_hides_what_only_a_supervisor_starts(capsys: Output) -> None:
    assert main([]) == 0
    told = capsys.readouterr().out
    listed = [line.split()[0] for line in told.splitlines() if line.startswith("    ")]
    first = ["chat", "search", "extract", "keys", "serve", "completion"]
    assert [name for name in listed if name in (*first, "worker")] == first and "Exit codes" in told


def test_files_of_another_user_are_counted(machine: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    (machine.state / "stranger").touch(mode=0o600)
    os.chown(machine.state / "stranger", 12345, 12345)
    assert "1 files in" in machine.doctor(code=1)


@pytest.mark.slow
async def test_the_doctor_asks_redis_and_counts_the_keys_there(machine: Machine, tmp_path: Path) -> None:
    async with running_redis(tmp_path) as server:
        secret = tmp_path / "redis"
        secret.write_text(server.url)
        secret.chmod(0o600)
        machine.unit(f"LoadCredential=redis:{secret}\nTimeoutStopSec=150\n")
        machine.write('[access]\nbackend = "redis"\n[shared]\nredis_url = { credential = "redis" }\n')
        said = await asyncio.to_thread(machine.doctor)
        assert "ok    Redis answers" in said and "WRONG 0 keys in Redis" in said
    said = await asyncio.to_thread(machine.doctor)
    assert "WRONG Redis cannot be used (ConnectionError)" in said and "WRONG Redis: Redis cannot be used" in said
    assert server.url not in said
