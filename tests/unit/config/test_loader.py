"""The configuration file: what it takes, what it refuses and how it says so."""

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


UPSTREAM = '[[models]]\nname = "a"\n[[models.upstreams]]\nmodel = "a"\n'
USD = '[[prices]]\nmodel = "SvcLLM"\n'
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
    assert load(tmp_path, text, **SECRETS) == config
    assert "secret" not in text and "secret" not in repr(config)


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


@pytest.mark.parametrize(
    ("text", "addresses", "seconds"),
    [
        ('provider = "local"', ["", ""], 15),
        (f'provider = "searxng"\n{URL}a"', ["a", ""], 15),
        (f'provider = ["searxng"]\n{URL}a"\ntimeout_s = 3', ["a", ""], 3),
        (f'provider = "searxng"\n[search.searxng]\n{URL}a"', ["a", ""], 15),
        (f'provider = ["searxng", "local"]\ntimeout_s = 9\n[search.searxng]\n{URL}a"\ntimeout_s = 2', ["a", ""], 2),
        (f'provider = "searxng"\n{URL}a"\nfallback = ["brave"]\n[search.brave]\n{URL}b"', ["a", "b"], 15),
    ],
)
def test_settings_of_a_search_provider_are_in_its_table_or_those_of_the_only_one(
    tmp_path: Path, text: str, addresses: list[str], seconds: float
) -> None:
    search = load(tmp_path, f"[search]\n{text}").search
    assert [search.engine(name).base_url.removeprefix("http://") for name in ("searxng", "brave")] == addresses
    assert search.timeout_of(search.providers[0]) == seconds


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        ("[server]\nprot = 1", "server.prot", "did you mean port? Allowed: host, port"),
        (
            '[[models]]\nname = "x"\n[[models.upstreams]]\nbase_ur = "http://a"',
            "models[0].upstreams[0].base_ur",
            "base_url?",
        ),
        ("[ops]\nzzz = 1", "ops.zzz", "is unknown; allowed: host"),
        ('[server]\nport = "x"', "server.port", "must be an integer"),
        ("[server]\nport = 99999", "server.port", "at most 65535"),
        ("server = 3", "server", "must be an object"),
        ("a =", "", "is not valid TOML"),
        ('[search]\nprovider = "tavily"', "search.api_key", "needs { credential"),
        (
            '[search]\nprovider = "bing"',
            "search.provider",
            "tavily, brave, exa, serper, linkup, perplexity, searxng, local; a package",
        ),
        ('[search]\nprovider = "Brave"', "search.provider", "name of a search provider"),
        ("[search]\nprovider = 5", "search.provider", "must be a string or an array"),
        ("[search]\nprovider = []", "search.provider", "at least 1 item"),
        ('[search]\nprovider = ["local", "bing"]', "search.provider", "unknown provider 'bing'"),
        ('[search]\nprovider = ["local", "local"]', "search.provider", "must not repeat"),
        ('[search]\nprovider = ["a", "b", "c", "d", "e"]', "search.provider", "at most 4 items"),
        ('[search]\nfallback = ["bing"]', "search.fallback", "unknown provider 'bing'"),
        ('[search]\nprovider = ["local", "brave"]', "search.brave.api_key", 'provider "brave" needs { credential'),
        ('[search]\nprovider = ["local", "searxng"]', "search.searxng.base_url", "address of your instance"),
        (
            '[search]\nprovider = ["local", "searxng"]\nbase_url = "http://a"\n[search.searxng]\nbase_url = "http://b"',
            "search.base_url",
            "belongs to one provider: write it into [search.local]",
        ),
        ('[search.searxgn]\nbase_url = "http://a"', "search.searxgn", "they name: local"),
        ("[search]\ntimout_s = 5", "search.timout_s", "allowed: provider, base_url"),
        ("[search.local]\nsize = 1", "search.local.size", "allowed: base_url, api_key, timeout_s"),
        ('[search.local]\napi_key = "plain"', "search.local.api_key", "may not stand in the file"),
        ('[search]\nprovider = "searxng"', "search.base_url", "address of your instance"),
        ('[index]\nbackend = "postgres"', "index.postgres_url", "needs { credential"),
        ('[index]\npostgres_url = "postgresql://a"', "index.postgres_url", "may not stand in the file"),
        ("[limits]\nshare_of_parse = 0", "limits.share_of_parse", "at least 0.01"),
        ("[limits]\nin_flight_share = 1.5", "limits.in_flight_share", "at most 1"),
        ("[limits]\nresponse_store_bytes_per_key = 1", "limits.response_store_bytes_per_key", "at least 65536"),
        ('[search]\napi_key = "tvly-plain"', "search.api_key", '{ credential = "NAME" }'),
        ('[search]\napi_key = { credential = "tavily" }', "search.api_key", "LoadCredential=tavily"),
        ('[[models.upstreams]]\nbase_url = "http://a"', "models", "is a list of tables: [[models]]"),
        ('[[models]]\nname = "x"', "models[0].upstreams", "at least one upstream"),
        ('[[models]]\nname = "SvcLLM"\nkind = "video"', "models[0].kind", "text, ocr"),
        ('[[models]]\nname = "SvcLLM"\naliases = ["SvcLLM"]', "models[0].aliases", "already the name"),
        ('[[models]]\nname = "SvcLLM"\nfallback = ["none"]', "models[0].fallback", "unknown model 'none'"),
        ('[web]\nallow_private = ["10.0.0.1"]', "web.allow_private[0]", "host:port"),
        ('[web]\nengine = "provider"', "web.engine", "tavily"),
        ('[[sanitize.patterns]]\nentity = "X1"\npattern = "(?=a)"', "sanitize.patterns[0].pattern", "RE2"),
        ('[sanitize.actions]\nrequests.EMAIL = "hide"', "sanitize.actions.requests.EMAIL", "block, redact"),
        ('[sanitize.actions]\nrequests.CARD = "block"', "sanitize.actions.requests.CARD", "CREDIT_CARD, IBAN"),
        ('[local_llm]\nmodel = "none.gguf"', "local_llm.model", "no such file"),
        ("[ops]\nport = 8080", "ops.port", "differ"),
        (
            f'{UPSTREAM}base_url = "http://127.0.0.1:99010/v1"',
            "models[0].upstreams[0].base_url",
            "port from 1 to 65535",
        ),
        (f'{UPSTREAM}{URL}a"\nproxy = "http://[::1"', "models[0].upstreams[0].proxy", "must name a host"),
        ('[[mcp_servers]]\nlabel = "a"\nurl = "https://a:0/"', "mcp_servers[0].url", "port from 1 to 65535"),
        (f'[search]\nprovider = "searxng"\n{URL}/a"', "search.base_url", "must name a host"),
        ('[access]\nbackend = "redis"', "access.backend", "needs shared.redis_url"),
        ("[shared]\nmachines = 2", "shared.machines", "need shared.redis_url"),
        ('[[prices]]\nmodel = "nobody"', "prices[0].model", "unknown model 'nobody'; known: SvcEmbedding, SvcLLM"),
        ('[[prices]]\nmodel = "SvcLLM"\n[[prices]]\nmodel = "SvcLLM"', "prices[1].model", "has a price already"),
        (f'{USD}[[prices]]\nmodel = "SvcOCR"\ncurrency = "EUR"', "prices[1].currency", "USD, as the first price is"),
        ('[[prices]]\nmodel = "SvcLLM"\ncurrency = "euro"', "prices[0].currency", "[A-Z]{3}"),
        ("[limits]\nspend_per_month = -1", "limits.spend_per_month", "at least 0"),
    ],
)
def test_a_wrong_file_is_refused_by_key_and_what_is_allowed(tmp_path: Path, text: str, path: str, says: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(tmp_path, text)
    assert refusal.value.path == path
    assert says in str(refusal.value)
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
