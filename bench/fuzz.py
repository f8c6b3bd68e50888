"""Fuzzes the parsers of `bench/fuzz_targets.py`, guided by coverage where atheris is installed.

`python -m bench.fuzz [--seconds 60] [--target NAME …] [--seed 1]`. Each target has a process of its own. With atheris
(`pip install atheris`; wheels for Linux on x86-64 alone, hence in no lock file) inputs that reach new lines are kept
for the run; without it, hypothesis mixes and cuts the kept corpus. An input that breaks a property is written to
`tests/corpus/TARGET/crash-…`, where the suite finds it. Exit 1 when there is one. Knows no parser.
"""

import argparse
import hashlib
import importlib
import importlib.util
import subprocess
import sys
import tempfile
import time

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st

_MAX_BYTES = 4096
"""Longest input. Chosen: parsers' states are reached within hundreds of bytes; at double, half as many are tried."""
_BATCH = 200
"""Inputs between two looks at the clock, without atheris."""
_GRACE_S = 60
"""Beyond the time asked for, until a process that hangs counts as a fault."""


def mixed(corpus: list[bytes]) -> st.SearchStrategy[bytes]:
    """Pieces of kept inputs, put together anew, with bytes of no origin between them."""
    pieces = st.sampled_from(corpus).flatmap(
        lambda data: st.tuples(st.integers(0, len(data)), st.integers(0, len(data))).map(
            lambda ends: data[min(ends) : max(ends)]
        )
    )
    whole = st.sampled_from(corpus)
    return st.lists(st.one_of(whole, pieces, st.binary(max_size=8)), max_size=4).map(
        lambda parts: b"".join(parts)[:_MAX_BYTES]
    )


def _with_hypothesis(name: str, seconds: float, seed: int) -> None:
    from bench.fuzz_targets import TARGETS, seeds

    target, corpus = TARGETS[name], seeds(name)
    end_s, tried = time.monotonic() + seconds, 0
    while time.monotonic() < end_s:

        @hypothesis_seed(seed + tried)
        @settings(max_examples=_BATCH, deadline=None, database=None, phases=[Phase.generate],
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(mixed(corpus))
        def run(data: bytes) -> None:
            try:
                target(data)
            except BaseException:
                _keep(name, data)
                raise

        run()
        tried += _BATCH
    print(f"{name}: {tried:,} inputs without guidance")


def _keep(name: str, data: bytes) -> None:
    from bench.fuzz_targets import CORPUS

    (CORPUS / name / f"crash-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)


def _with_atheris(name: str, seconds: float, seed: int) -> None:
    atheris = importlib.import_module("atheris")

    with atheris.instrument_imports(include=["gateway"]):
        from bench.fuzz_targets import CORPUS, TARGETS
    with tempfile.TemporaryDirectory() as grown:
        options = [f"-max_total_time={seconds:.0f}", f"-max_len={_MAX_BYTES}", f"-seed={seed}", "-timeout=20"]
        options += ["-verbosity=0", "-print_final_stats=1", f"-artifact_prefix={CORPUS / name}/"]
        atheris.Setup(["fuzz", *options, grown, str(CORPUS / name)], TARGETS[name])
        atheris.Fuzz()


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--target", action="append", default=[], help="default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--here", action="store_true", help="in this process; for one target")
    options = parser.parse_args(argv)
    is_guided = importlib.util.find_spec("atheris") is not None
    if options.here:
        (_with_atheris if is_guided else _with_hypothesis)(options.target[0], options.seconds, options.seed)
        return
    from bench.fuzz_targets import TARGETS

    print(f"guided by coverage: {'yes' if is_guided else 'no, atheris is not installed'}", flush=True)
    faults, limit_s = [], options.seconds + _GRACE_S
    for name in options.target or TARGETS:
        command = [sys.executable, "-m", "bench.fuzz", "--here", "--target", name, "--seed", str(options.seed)]
        command += ["--seconds", str(options.seconds)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
            is_fault, output = done.returncode != 0, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            is_fault, output = True, "it did not end"
        units = [line.split()[1] for line in output.splitlines() if line.startswith("stat::number_of_executed_units")]
        print(f"{name}: {'FAULT' if is_fault else 'held'}{f', {int(units[0]):,} inputs' if units else ''}", flush=True)
        if is_fault:
            faults.append(name)
            print(output[-3000:])
    if faults:
        sys.exit(1)


if __name__ == "__main__":
    main()
