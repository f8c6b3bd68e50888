"""The configuration file: what it takes, what it refuses and how it says so.

What is refused stands in `tests/golden/wrong_configurations.json`: the file, the key that is named, and words about it.
"""

import json
import shutil
from pathlib import Path

import pytest

from gateway.config.dump import config_text
from gateway.config.environment import Environment
from gateway.config.loader import ConfigError, load_config
from gateway.config.settings import ENTITIES, Config, Sanitize
from gateway.domain import EMBEDDING_MODEL
from gateway.sanitize.policy import actions
from tests.support.connect_proxy import PrivateAuthority
from tests.support.paths import GOLDEN

FULL = """
[server]
port = 8081
[[models]]
name = "SvcLLM"
aliases = ["small"]
  [[models.upstreams]]
  base_url = "http://10.0.0.5:8000/v1"
  model = "llama"
  api_key = { credential = "llm" }
  extra_body = { seed = 1, "with space" = [1, 2] }
[search]
provider = "tavily"
api_key = { credential = "tavily" }
[sanitize.actions]
requests.CREDIT_CARD = "block"
"""
SECRETS = {"GATEWAY_CREDENTIAL_LLM": "first-secret", "GATEWAY_CREDENTIAL_TAVILY": "second-secret"}

WRONG = json.loads((GOLDEN / "wrong_configurations.json").read_text())
URL = 'base_url = "http://'


def load(tmp_path: Path, text: str, **variables: str) -> Config:
    file = tmp_path / "gateway.toml"
    file.write_text(text)
    return load_config(file, tmp_path, Environment(variables))


def test_no_file_gives_the_embedded_profile(tmp_path: Path) -> None:
    config = load_config(None, tmp_path, Environment({}))
    assert config == Config(state_dir=tmp_path)
    assert (config.server.host, config.server.port, config.search.provider) == ("127.0.0.1", 8080, "local")


def test_a_file_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    config = load(tmp_path, FULL, **SECRETS)
    assert config.server.port == 8081 and config.server.workers == 1
    assert config.models[0].upstreams[0].extra_body == {"seed": 1, "with space": [1, 2]}
    assert config.sanitize.actions.requests == {"CREDIT_CARD": "block"}


def test_a_printed_configuration_can_be_read_again_and_shows_no_secret(tmp_path: Path) -> None:
    config = load(tmp_path, FULL, **SECRETS)
    text = config_text(config)
    assert load(tmp_path, text, **SECRETS) == config and "secret" not in text and "secret" not in repr(config)


def test_a_credential_is_read_from_the_folder_before_the_variable(tmp_path: Path) -> None:
    (tmp_path / "llm").write_text("from-folder\n")
    config = load(tmp_path, FULL, **SECRETS, CREDENTIALS_DIRECTORY=str(tmp_path))
    assert config.models[0].upstreams[0].api_key is not None
    assert config.models[0].upstreams[0].api_key.reveal() == "from-folder"


def test_variables_override_host_port_and_level(tmp_path: Path) -> None:
    config = load(tmp_path, "", GATEWAY_HOST="::1", GATEWAY_PORT="9000", GATEWAY_LOG_LEVEL="debug")
    assert (config.server.host, config.server.port, config.log.level) == ("::1", 9000, "debug")


def test_a_wrong_variable_is_refused_by_its_own_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(tmp_path, "[server]\nport = 8081", GATEWAY_PORT="99999")
    assert str(refusal.value).startswith("GATEWAY_PORT: server.port: must be at most")


def test_the_embedded_embedding_model_may_have_a_price(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(f'[[prices]]\nmodel = "{EMBEDDING_MODEL}"\ninput_per_million = 1.5\n')
    assert load_config(file, tmp_path, Environment({})).prices[0].input_per_million == 1.5


PROVIDERS = [
    ('provider = "local"', ["", ""], 15),
    (f'provider = "searxng"\n{URL}a"', ["a", ""], 15),
    (f'provider = ["searxng"]\n{URL}a"\ntimeout_s = 3', ["a", ""], 3),
    (f'provider = "searxng"\n[search.searxng]\n{URL}a"', ["a", ""], 15),
    (f'provider = ["searxng", "local"]\ntimeout_s = 9\n[search.searxng]\n{URL}a"\ntimeout_s = 2', ["a", ""], 2),
    (f'provider = "searxng"\n{URL}a"\nfallback = ["brave"]\n[search.brave]\n{URL}b"', ["a", "b"], 15),
]


@pytest.mark.parametrize(("text", "addresses", "seconds"), PROVIDERS)
def test_settings_of_a_search_provider_are_in_its_table_or_those_of_the_only_one(
    tmp_path: Path, text: str, addresses: list[str], seconds: float
) -> None:
    search = load(tmp_path, f"[search]\n{text}").search
    assert [search.engine(name).base_url.removeprefix("http://") for name in ("searxng", "brave")] == addresses
    assert search.timeout_of(search.providers[0]) == seconds


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case["file"])
def test_a_wrong_file_is_refused_by_key_and_what_is_allowed(tmp_path: Path, case: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(tmp_path, case["file"])
    assert refusal.value.path == case["key"] and case["says"] in str(refusal.value)
    assert str(refusal.value).startswith(str(tmp_path / "gateway.toml"))


def test_an_action_may_name_an_entity_of_an_own_pattern_and_every_one_the_sanitizer_knows(tmp_path: Path) -> None:
    own = '[[sanitize.patterns]]\nentity = "BADGE"\npattern = "B-[0-9]{4}"\n'
    config = load(tmp_path, own + '[sanitize.actions]\nresponses.BADGE = "block"')
    assert config.sanitize.actions.responses == {"BADGE": "block"}
    table = actions(Sanitize(), "requests")
    assert all(table.action(entity) != "off" for entity in ENTITIES)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")
def test_relative_tls_files_stand_under_the_state_directory_and_can_be_used(tmp_path: Path) -> None:
    PrivateAuthority(tmp_path).server_context("localhost")
    pair = '[server]\ntls = { cert = "server.pem", key = "server.key" }'
    config = load(tmp_path, pair)
    assert config.server.tls is not None and config.server.tls.cert == str(tmp_path / "server.pem")
    shown = config_text(config)
    assert "PRIVATE KEY" not in shown and load(tmp_path, shown) == config
    with pytest.raises(ConfigError, match=r"server\.tls\.cert: no such file"):
        load(tmp_path, pair.replace("server.pem", "none.pem"))
    with pytest.raises(ConfigError, match=r"server\.tls: .*the key must be that of the certificate"):
        load(tmp_path, pair.replace("server.pem", "ca.pem"))
    (tmp_path / "server.pem").write_text("broken")
    with pytest.raises(ConfigError, match=r"server\.tls: .*must be PEM"):
        load(tmp_path, pair)


def test_an_empty_credential_is_told_from_a_missing_one(tmp_path: Path) -> None:
    toml = '[shared]\nredis_url = { credential = "redis" }\n'
    with pytest.raises(ConfigError, match="'redis' is missing; set LoadCredential=redis:FILE"):
        load(tmp_path, toml)
    with pytest.raises(ConfigError, match="'redis' is empty; write the secret into the file"):
        load(tmp_path, toml, GATEWAY_CREDENTIAL_REDIS="")
