"""In a network where every address answers, the fetcher still reaches public ones only. See tests/ssrf_namespace.py."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.support.paths import ROOT
from tests.support.ssrf_namespace import NOT_PERMITTED

pytestmark = pytest.mark.slow  # a network namespace of its own, once


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.support.ssrf_namespace"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)
    if done.returncode == NOT_PERMITTED:
        pytest.skip("this machine permits no network namespaces")
    assert done.returncode == 0, done.stderr[-2000:]
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_the_control_connections_arrive_inside_and_public_pages_can_be_fetched(said: dict[str, Any]) -> None:
    assert len([address for address in said["tried"] if ":" not in address]) >= 25
    assert said["public"] and set(said["control"]) == {"fetched"}


def test_no_private_or_metadata_range_no_name_and_no_redirect_reaches_a_canary(said: dict[str, Any]) -> None:
    assert said["inside"] == [] and said["redirected"] == [] and said["fetched"] == []
    assert said["targets"] >= 250
    assert said["other_codes"] == {}  # every refusal is made before a connection is


def test_a_name_that_changes_its_answer_is_never_followed_inside(said: dict[str, Any]) -> None:
    if said["resolved"] != "fetched":
        pytest.skip("this machine's resolver does not ask the namespace's name server")
    assert set(said["rebinding"]) <= {"fetched", "url_refused"} and said["rebinding"][-1] == "url_refused"


def test_the_engine_reads_the_lure_and_follows_none_of_its_baits(said: dict[str, Any]) -> None:
    assert said["lured"] == 1 and said["inside"] == []
