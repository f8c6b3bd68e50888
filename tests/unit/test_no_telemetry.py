"""No library that the gateway imports reports to anybody."""

import os
import subprocess
import sys

import pytest

LOAD = "import onnxruntime; onnxruntime.SessionOptions(); onnxruntime.get_available_providers()"


def said(code: str) -> str:
    """What a process says on standard error that cannot keep the number by which it would be known."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "ORT_DISABLE_TELEMETRY")}
    environment = {**kept, "HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True).stderr


@pytest.mark.slow
def test_onnxruntime_does_not_report_to_its_maker() -> None:
    if "telemetry" not in said(LOAD):
        pytest.skip("this build of onnxruntime reports nothing")
    assert "telemetry" not in said(f"import gateway; {LOAD}")
