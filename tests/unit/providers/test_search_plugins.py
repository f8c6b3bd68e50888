"""Search adapters that installed distributions offer: found by their entry point, and told of when they are broken."""

from pathlib import Path

import pytest

from gateway.config.environment import Environment
from gateway.config.loader import ConfigError, load_config
from gateway.config.search_providers import GROUP
from gateway.domain import Json, SearchRequest
from gateway.errors import UpstreamError
from gateway.providers.search import ProviderRequest, SearchAdapter
from gateway.providers.search_table import REMOTE_PROVIDERS, adapter_called
from tests.support.paths import ROOT
from tests.support.websites import serving
from tests.unit.providers.test_search_providers import CALL, KEY, Upstream, found

EXAMPLE = (ROOT / "docs" / "search-providers.md").read_text().split("```python\n")[1].split("```")[0]
MINE = EXAMPLE + "\nnot_a_class = 5\n"


def install(folder: Path, name: str, module: str, code: str, points: str) -> None:
    """What pip leaves of a distribution of one module."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{points}\n")
    (folder / f"{module}.py").write_text(code)


def refusal(folder: Path, toml: str) -> ConfigError:
    file = folder / "gateway.toml"
    file.write_text(toml)
    with pytest.raises(ConfigError) as caught:
        load_config(file, folder, Environment({}))
    return caught.value


@pytest.fixture
def site_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


async def test_an_installed_adapter_is_asked_like_any_other(site_packages: Path) -> None:
    install(site_packages, "mine-search", "mine_search", MINE, "mine = mine_search:Mine")
    (site_packages / "gateway.toml").write_text(
        '[search]\nprovider = ["local", "mine"]\n[search.mine]\napi_key = { credential = "a" }\ntimeout_s = 2\n'
    )
    config = load_config(site_packages / "gateway.toml", site_packages, Environment({"GATEWAY_CREDENTIAL_A": KEY}))
    assert config.search.engine("mine").timeout_s == 2
    answer = found("https://a.test/")
    answer["results"][0]["words"] = "what it found"
    async with serving(Upstream(answer)) as site:
        assert isinstance(site, Upstream)
        mine = adapter_called("mine")(KEY, site.url)
        data = await mine.search(SearchRequest("q", "advanced", 3), CALL)
        fast = await mine.search(SearchRequest("q", "fast", country="france"), CALL)
        await mine.close()
    assert site.requests[0][0] == "/find" and site.requests[0][2] == {"q": "q", "n": 3, "depth": "long"}
    assert site.requests[0][3]["Authorization"] == f"Bearer {KEY}"
    assert data["results"][0]["content"] == "what it found" and data["results"][0]["score"] == 0.5
    assert site.requests[1][2]["region"] == "fr" and fast["ignored"] == ["search_depth"]


async def test_one_that_trusts_its_service_too_much_fails_like_a_service() -> None:
    class Trusting(SearchAdapter):
        name = "trusting"
        capabilities = frozenset()

        def request_for(self, request: SearchRequest) -> ProviderRequest:
            return ProviderRequest("/find", body={})

        def items(self, answer: Json, request: SearchRequest) -> list[Json]:
            return [{"url": each["place"]["address"]} for each in answer["found"]]

    answers: tuple[Json, ...] = ({}, {"found": 5}, {"found": [{}]}, {"found": [{"place": None}]})
    for answer in answers:
        async with serving(Upstream(answer)) as site:
            trusting = Trusting("", site.url)
            with pytest.raises(UpstreamError, match="of the search provider trusting cannot be read"):
                await trusting.search(SearchRequest("q"), CALL)
            await trusting.close()


BROKEN = [
    ("mine = broken_a:Mine", "import a_module_that_is_not_there", "ModuleNotFoundError: No module named"),
    ("mine = broken_b:Mine", "raise OSError('no\\nlicence')", "cannot be loaded: OSError: no"),
    ("mine = broken_c:Yours", MINE, "has no attribute 'Yours'"),
    ("mine = broken_d:not_a_class", MINE, "must be a class as gateway.providers.search.SearchAdapter is"),
    ("mine = broken_e:Path", "from pathlib import Path", "must be a class as"),
    ("mine = broken_f:Mine", MINE.replace('"mine"', '"yours"'), "SearchAdapter is, of the name 'mine'"),
]


@pytest.mark.parametrize(("point", "code", "says"), BROKEN)
def test_a_broken_one_is_a_fault_of_the_configuration_that_names_its_distribution(
    site_packages: Path, point: str, code: str, says: str
) -> None:
    install(site_packages, "mine-search", point.partition(" = ")[2].partition(":")[0], code, point)
    error = refusal(site_packages, '[search]\nprovider = "mine"\n')
    assert error.path == "search.provider" and says in str(error) and "\n" not in str(error)
    assert "the distribution mine-search 1.0" in str(error)


def test_an_unknown_name_is_told_what_there_is_and_how_to_add_one(site_packages: Path) -> None:
    install(site_packages, "mine-search", "mine_search_too", MINE, "mine = mine_search_too:Mine")
    text = str(refusal(site_packages, '[search]\nfallback = ["mime"]\n'))
    assert "unknown provider 'mime'" in text and "local, mine;" in text and GROUP in text
    assert all(name in text for name in REMOTE_PROVIDERS)


def test_two_distributions_with_one_name_are_both_named(site_packages: Path) -> None:
    install(site_packages, "first", "mine_search_one", MINE, "mine = mine_search_one:Mine")
    install(site_packages, "second", "mine_search_two", MINE, "mine = mine_search_two:Mine")
    text = str(refusal(site_packages, '[search]\nprovider = "mine"\n'))
    assert "offered by the distribution first 1.0 and the distribution second 1.0" in text


def test_a_name_of_the_gateways_own_stays_its_own(site_packages: Path) -> None:
    install(site_packages, "mine-search", "mine_search_own", "raise OSError", "brave = mine_search_own:Mine")
    assert adapter_called("brave") is REMOTE_PROVIDERS["brave"]
