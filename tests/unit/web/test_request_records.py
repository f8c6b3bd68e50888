"""The last requests, kept in one file a process: what is kept, what is read of all processes, what is removed."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gateway.web.request_records import MAX_RECORDS, RequestRecords


def record(number: int, **more: Any) -> dict[str, Any]:
    return {"request_id": f"req_{number}", "endpoint": "chat", "status": 200, "total_ms": 1.5, **more}


def ids(records: RequestRecords) -> list[str]:
    return [each["request_id"] for each in records.last()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "requests"


def test_the_newest_come_first_and_the_oldest_give_way(folder: Path) -> None:
    records = RequestRecords(folder)
    records.open()
    for number in range(MAX_RECORDS + 10):
        records.add([record(number, ts=1000.0 + number)])
    kept = ids(records)
    assert len(kept) == MAX_RECORDS and kept[0] == f"req_{MAX_RECORDS + 9}" and "req_9" not in kept
    records.close()


def test_records_of_another_process_are_read_too(folder: Path) -> None:
    here, there = RequestRecords(folder), RequestRecords(folder)
    here.open()
    there.open()
    here.add([record(1)])
    there.add([record(2)])
    assert sorted(ids(here)) == sorted(ids(there)) == ["req_1", "req_2"]
    there.close()
    assert ids(here) == ["req_1"]
    here.close()
    assert list(folder.iterdir()) == []


def test_the_file_of_a_process_that_has_ended_goes_when_another_starts(folder: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    folder.mkdir()
    (folder / f"{gone.pid}-aa.jsonl").write_text('{"ts": 1, "request_id": "req_old"}\n')
    (folder / f"{os.getppid()}-bb.jsonl").write_text('{"ts": 1, "request_id": "req_live"}\n')
    records = RequestRecords(folder)
    records.open()
    assert ids(records) == ["req_live"]
    records.close()


def test_the_file_is_readable_by_its_owner_alone(folder: Path) -> None:
    records = RequestRecords(folder)
    records.open()
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]
    records.close()


def test_a_record_too_long_for_its_slot_keeps_what_names_it(folder: Path) -> None:
    records = RequestRecords(folder)
    records.open()
    records.add([record(1, findings={f"KIND_{number}": 1 for number in range(200)})])
    (kept,) = records.last()
    assert kept["request_id"] == "req_1" and "findings" not in kept
    records.add([record(2) | {"request_id": "x" * 2000}])
    assert len(records.last()) == 1
    records.close()


def test_what_is_no_record_is_passed_over(folder: Path) -> None:
    folder.mkdir()
    (folder / f"{os.getpid()}-cc.jsonl").write_bytes(b'{"ts": "x"}\n[1]\n{"ts": 5, "request_id": "req_5"\n\0\0\n"ts"\n')
    assert RequestRecords(folder).last() == []


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    records = RequestRecords(tmp_path / "file" / "requests")
    records.open()
    records.add([record(1)])
    assert records.last() == []
    records.close()
