"""A newcomer's way from a clone to first answers, recorded: each command, its output, its seconds and CPU seconds.

`python -m bench.first_run [--out bench/first-run.md]` clones this checkout's last commit into a new folder and pastes
the README's commands there, in this order: `make run`, a first answer, a search with sources, an OCR picture with its
boxes, a site as Markdown files. CPU seconds are those of the command and, from the server's start on, of the server
beside it, read from the kernel. What is recorded is what came, shortened; the machine is described at the top. The
record is no page of `docs/`, which the server serves and the search step reads: it holds the query word for word, so it
would be its own first hit.
"""

import argparse
import os
import platform
import re
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.load import cpu_seconds
from gateway.embedded.child_server import free_port

ROOT = Path(__file__).parents[1]
START_S = 900
"""Longest wait for the first start, which installs everything. Chosen: ten times what it takes on a fast line."""
RUN_S = 300
SHOWN_LINES, SHOWN_CHARS = 10, 150
READY = "The gateway answers on"


@dataclass(frozen=True, slots=True)
class Step:
    """A heading and what a newcomer pastes below it."""

    heading: str
    command: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step printed and cost."""

    step: Step
    output: str
    code: int
    seconds: float
    cpu_s: float


def steps(port: int, ops_port: int) -> tuple[Step, ...]:
    """The README's commands, with the ports of this run."""
    docs = f"http://127.0.0.1:{ops_port}/docs/"
    reach = f"export GATEWAY_URL=http://127.0.0.1:{port} GATEWAY_OPS_PORT={ops_port}; . .venv/bin/activate\n"
    return (
        Step("A first answer", reach + 'gateway chat --max-tokens 30 "What is HTTP? One sentence."'),
        Step("Something to search in", reach + f"gateway index add {docs}"),
        Step("A search", reach + 'gateway search --max-results 2 "how long until a revoked key is refused"'),
        Step(
            "An answer with a web search and its sources",
            f'curl -s http://127.0.0.1:{port}/v1/responses -H "Authorization: Bearer $(cat var/dev-key)" '
            '-H "Content-Type: application/json" \\\n  -d \'{"model":"SvcLLM","input":"How long until a revoked key is '
            'refused?","tools":[{"type":"web_search"}],"include":["web_search_call.action.sources"],'
            '"max_output_tokens":60,"temperature":0}\' \\\n  | tr "," "\\n" | grep -E "query|url|text"',
        ),
        Step("A picture, with boxes", reach + "gateway ocr tests/golden/ocr-sample.png --overlay boxes.png"),
        Step(
            "A site as Markdown files",
            reach + f"gateway crawl {docs} --out site --limit 20\nfind site -name '*.md' | sort | head -5",
        ),
    )


def run(step: Step, folder: Path, server: int) -> Outcome:
    """The step in a shell of its own; `server`: the process whose CPU counts too."""
    before, started = _cpu_s(server), time.monotonic()
    done = subprocess.run(
        ["/bin/bash", "-c", step.command], cwd=folder, capture_output=True, text=True, timeout=RUN_S, check=False
    )
    seconds = time.monotonic() - started
    return Outcome(step, done.stdout + done.stderr, done.returncode, seconds, _cpu_s(server) - before)


def _cpu_s(server: int) -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime + cpu_seconds(server)


def start(folder: Path, port: int, ops_port: int) -> tuple[Outcome, subprocess.Popen[str]]:
    """`make run` in the clone, until the gateway answers. Raises RuntimeError when it does not."""
    command = f"make run PORT={port} OPS_PORT={ops_port}"
    started = time.monotonic()
    process = subprocess.Popen(
        ["make", "run", f"PORT={port}", f"OPS_PORT={ops_port}"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    lines: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if READY in line:
            break
        if time.monotonic() - started > START_S:
            break
    if not lines or READY not in lines[-1]:
        raise RuntimeError(f"the gateway did not start:\n{''.join(lines[-20:])}")
    seconds = time.monotonic() - started
    step = Step("From nothing to a running server", f"git clone <this repository> gateway && cd gateway && {command}")
    return Outcome(step, "".join(lines), 0, seconds, cpu_seconds(process.pid) + _ended_s(process.pid)), process


def _ended_s(pid: int) -> float:
    """CPU seconds of a process's children that have ended (proc(5), fields 16 and 17 of stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def shown(output: str, folder: Path) -> str:
    """The last lines of what was printed, each cut; addresses of other machines and this one's folders left out."""
    lines = [line.rstrip() for line in output.replace(str(folder), "gateway").splitlines() if line.strip()]
    lines = [line for line in lines if not re.search(r"file:|https?://(?!127\.0\.0\.1)", line)]
    cut = [line if len(line) <= SHOWN_CHARS else line[:SHOWN_CHARS] + " …" for line in lines]
    if len(cut) <= 2 * SHOWN_LINES:
        return "\n".join(cut)
    return "\n".join([*cut[:SHOWN_LINES], "…", *cut[-SHOWN_LINES:]])


def machine() -> str:
    """Processor, cores, memory and Python of this machine."""
    model = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    name = model[1] if model else platform.machine()
    return f"{name}, {os.cpu_count()} cores, {memory:.0f} GiB of memory, Python {platform.python_version()}"


def document(outcomes: list[Outcome], folder: Path) -> Iterator[str]:
    """The record as Markdown."""
    yield "# A first run, recorded\n"
    yield (
        "What a newcomer sees who pastes the README's commands into an empty folder, recorded by"
        f" `python -m bench.first_run` on {time.strftime('%Y-%m-%d', time.gmtime())}.\n"
    )
    yield f"Machine: {machine()}. Its package index is near; elsewhere the first step takes longer.\n"
    yield "| Step | Seconds | CPU seconds |\n|---|---|---|"
    for each in outcomes:
        yield f"| {each.step.heading} | {each.seconds:.1f} | {each.cpu_s:.1f} |"
    for each in outcomes:
        yield f"\n## {each.step.heading}\n\n```\n{each.step.command}\n```\n\n```text\n{shown(each.output, folder)}\n```"


def main() -> None:
    """Record the run. Exits with 1 when a step fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "first-run.md")
    arguments = parser.parse_args()
    port, ops_port = free_port(), free_port()
    with tempfile.TemporaryDirectory() as empty:
        folder = Path(empty) / "gateway"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
        first, server = start(folder, port, ops_port)
        try:
            outcomes = [first, *(run(step, folder, server.pid) for step in steps(port, ops_port))]
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(60)
        text = "\n".join(document(outcomes, folder)) + "\n"
    failed = [each.step.heading for each in outcomes if each.code]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}\n{text}")
    arguments.out.write_text(text)


if __name__ == "__main__":
    main()
