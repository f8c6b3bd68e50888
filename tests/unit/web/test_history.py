"""The history of the console: counts by time that all processes share and that outlive them."""

from pathlib import Path

import pytest

from gateway.web.history import History, cause_of

NOON = 1_800_000_000


class Clock:
    def __init__(self) -> None:
        self.s = float(NOON)

    def __call__(self) -> float:
        return self.s


@pytest.mark.parametrize(
    ("status", "outcome", "cause"),
    [
        (200, "", "ok"), (200, "truncated", "failed"), (499, "client_gone", "left"), (400, "", "invalid"),
        (413, "", "invalid"), (401, "", "refused"), (429, "", "limited"), (502, "", "upstream"), (500, "", "failed"),
    ],
)  # fmt: skip
def test_a_request_ends_by_one_cause(status: int, outcome: str, cause: str) -> None:
    assert cause_of(status, outcome) == cause


def test_what_two_processes_add_is_one_history_that_outlives_them(tmp_path: Path) -> None:
    clock = Clock()
    for _ in range(2):
        process = History(tmp_path / "history.bin", clock)
        process.open()
        process.add([(200, "", 0.02, 10, 5), (502, "", 1.5, 0, 0)])
        process.add_gauges(cpu_ms=500, memory_kb=51_200, in_flight=1, seconds=1.0)
        process.close()
    later = History(tmp_path / "history.bin", clock)
    later.open()
    clock.s += 1
    last = later.read("5m")["points"][-1]
    assert (last["requests"], last["ok"], last["upstream"]) == (4, 2, 2)
    assert (last["input_tokens"], last["output_tokens"]) == (20, 10)
    assert 16 <= last["p50_ms"] <= 32
    assert 1024 <= last["p95_ms"] <= 2048
    assert last["memory_mb"] == 100
    assert later.read("24h")["points"][-1]["requests"] == 4
    later.close()


def test_buckets_of_an_earlier_round_count_no_more(tmp_path: Path) -> None:
    clock = Clock()
    history = History(tmp_path / "history.bin", clock)
    history.open()
    history.add([(200, "", 0.001, 0, 0)])
    clock.s += 24 * 3600
    assert all(point["requests"] == 0 for name in ("5m", "1h", "24h") for point in history.read(name)["points"])
    history.close()


def test_without_a_folder_to_write_to_nothing_is_kept_and_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = History(tmp_path / "file" / "history.bin")
    history.open()
    history.add([(200, "", 0.001, 0, 0)])
    assert history.read("5m")["points"][-1]["requests"] == 0
    history.close()
