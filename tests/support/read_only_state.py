"""A gateway whose state directory becomes read-only while it serves, and one that starts on such a directory.

`python -m tests.support.read_only_state`; exit status 77 means that namespaces are not permitted here.
"""

import asyncio
import ctypes
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.asking import call_tool, send
from tests.support.gateway_process import run_command
from tests.support.gateways import Gateway, start_in_process
from tests.support.websites import Site, page, serving

NOT_PERMITTED = 77
_RDONLY, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 1 << 5, 1 << 12, 1 << 14, 1 << 18
_NEW_MOUNTS, _NEW_USER = 0x0002_0000, 0x1000_0000
LIBC = ctypes.CDLL(None, use_errno=True)
WITHOUT_EMBEDDED = "[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n"
TEXT = "A page with words about walnuts that are long enough to be read as its text. " * 5


def enter() -> bool:
    """Mounts of this process alone; False if not permitted."""
    if LIBC.unshare(_NEW_MOUNTS) != 0 and LIBC.unshare(_NEW_USER | _NEW_MOUNTS) != 0:
        return False
    return bool(LIBC.mount(b"none", b"/", None, _PRIVATE | _REC, None) == 0)


def make_read_only(folder: Path) -> bool:
    """From now on whoever opens a file below `folder` cannot write to it."""
    name = str(folder).encode()
    if LIBC.mount(name, name, None, _BIND, None) != 0:
        return False
    return bool(LIBC.mount(None, name, None, _REMOUNT | _BIND | _RDONLY, None) == 0)


async def data_of(gateway: Gateway, tool: str, arguments: Any = None) -> Any:
    is_error, data = await call_tool(gateway, tool, arguments)
    assert not is_error, data
    return data


async def check(folder: Path) -> int:
    state = folder / "state"
    state.mkdir()
    async with serving(Site({"/": page("Walnuts", TEXT)})) as site:
        toml = f"{WITHOUT_EMBEDDED}[web]\nallow_private = ['{site.address}']\n"
        async with start_in_process(state, toml) as gateway:
            if not make_read_only(state):
                return NOT_PERMITTED
            for _ in range(2):
                data = await data_of(gateway, "extract", {"urls": [site.url + "/"]})
                assert "walnuts" in data["results"][0]["raw_content"], data
            status = await data_of(gateway, "search_status")
            assert "the index file cannot be" in json.dumps(status), status
            for url in ("/v1/models", gateway.ops_url + "/readyz"):
                assert (await send(gateway, url, method="GET"))[0] == 200
    made = run_command("keys", "create", "--name", "x", "--scope", "chat", "--state-dir", str(state))
    assert made.returncode == 1 and "Traceback" not in made.stderr, made
    fresh = folder / "fresh"
    fresh.mkdir()
    assert make_read_only(fresh)
    config = folder / "gateway.toml"
    config.write_text(f"{WITHOUT_EMBEDDED}[server]\nport = 0\n[ops]\nport = 0\n")
    started = run_command("serve", "--config", str(config), "--state-dir", str(fresh))
    assert started.returncode == 1 and "Traceback" not in started.stderr, started
    assert "Read-only" in started.stderr and str(fresh) in started.stderr, started
    return 0


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        if not enter():
            return NOT_PERMITTED
        try:
            return asyncio.run(check(Path(folder)))
        finally:
            for name in ("state", "fresh"):
                LIBC.umount2(f"{folder}/{name}".encode(), 2)


if __name__ == "__main__":
    sys.exit(main())
