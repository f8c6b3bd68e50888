"""One Chromium: started on pipes in a process without a network, watched for its memory, ended with all its processes.

Nothing here weakens Chromium's own sandbox, which stays the wall between a page and this user's files; where it cannot
work the browser does not start. Knows neither pages nor the gateway.
"""

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from gateway.domain import Json

MAX_MESSAGE_BYTES = 67_108_864  # largest message that is read
_PIECE_BYTES = 262_144
CALL_S = 10.0  # how long the browser may take for one command

Listener = Callable[[str, Json], None]  # gets the events of one session: method and parameters


class BrowserGone(ConnectionError):
    """The browser has ended."""


class CommandFailed(Exception):
    """The browser refused a command, or did not answer it in time."""


class NoAnswer(CommandFailed):
    """The browser did not answer a command in time."""


class Connection:
    """One browser. `run` reads until its pipe ends; commands and listeners belong to a session, "" is the browser."""

    def __init__(self, source: asyncio.StreamReader, sink: asyncio.WriteTransport) -> None:
        self._source = source
        self._sink = sink
        self._last_id = 0
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self._listeners: dict[str, Listener] = {}
        self.is_gone = False

    def listen(self, session: str, listener: Listener) -> None:
        """Events of the session go to `listener`; it must not raise."""
        self._listeners[session] = listener

    def forget(self, session: str) -> None:
        """Events of the session go nowhere."""
        self._listeners.pop(session, None)

    def send(self, method: str, parameters: Json | None = None, session: str = "") -> int:
        """Sends a command whose answer nobody waits for. Returns its number."""
        self._last_id += 1
        message: Json = {"id": self._last_id, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        if not self.is_gone:
            self._sink.write(orjson.dumps(message) + b"\0")
        return self._last_id

    async def call(
        self, method: str, parameters: Json | None = None, session: str = "", timeout_s: float = CALL_S
    ) -> Json:
        """The result of a command. Raises BrowserGone, CommandFailed; NoAnswer after `timeout_s`."""
        if self.is_gone:
            raise BrowserGone
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        number = self.send(method, parameters, session)
        self._answers[number] = answer
        try:
            async with asyncio.timeout(timeout_s):
                message = await answer
        except TimeoutError:
            raise NoAnswer(method) from None
        finally:
            self._answers.pop(number, None)
        result = message.get("result")
        if not isinstance(result, dict):
            raise CommandFailed(method)
        return result

    async def run(self) -> None:
        """Reads messages until the browser's pipe ends; then every waiting command raises BrowserGone."""
        kept = bytearray()
        skips = False
        try:
            while piece := await self._source.read(_PIECE_BYTES):
                *ends, rest = piece.split(b"\0")
                for end in ends:
                    if not skips:
                        self._take(bytes(kept) + end)
                    kept.clear()
                    skips = False
                skips = skips or len(kept) + len(rest) > MAX_MESSAGE_BYTES
                if skips:
                    kept.clear()
                else:
                    kept += rest
        except ConnectionError:
            pass
        finally:
            self.is_gone = True
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(BrowserGone())

    def _take(self, packed: bytes) -> None:
        with contextlib.suppress(orjson.JSONDecodeError):
            message: Any = orjson.loads(packed)
            if not isinstance(message, dict):
                return
            number, method = message.get("id"), message.get("method")
            if isinstance(number, int):
                answer = self._answers.get(number)
                if answer is not None and not answer.done():
                    answer.set_result(message)
            elif isinstance(method, str):
                session, parameters = message.get("sessionId", ""), message.get("params")
                listener = self._listeners.get(session) if isinstance(session, str) else None
                if listener is not None:
                    listener(method, parameters if isinstance(parameters, dict) else {})


START_S = 20.0  # a start takes 1.0 to 1.6 s on a loaded machine (measured)
_WATCH_S = 0.5  # between two looks at the memory
_HEAP_MB = 256  # JavaScript memory of one page's process
FLAGS: tuple[str, ...] = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-notifications",
    "--disable-plugins",
    "--disable-sync",
    # HttpsUpgrades would give a page another origin than it has; the toolbars of windows that nobody sees would take
    # most of a new context's CPU.
    "--disable-features="
    "AutofillServerCommunication,BackForwardCache,HttpsFirstBalancedModeAutoEnable,HttpsUpgrades,"
    "InterestFeedContentSuggestions,MediaRouter,OptimizationHints,PreloadTopChromeWebUI,Prerender2,"
    "SpareRendererForSitePerProcess,Translate,WebUIOmniboxPopup,WebUIOmniboxFullPopup,"
    "WebUIOmniboxAimPopup,WebUIToolbar",
    # A frame of another site gets its process with its document, not as it is made, also one that is refused: a page
    # with frames of 200 sites would start 190 processes at once (4 GB, 13 s of CPU), and has 2 (0.3 GB, 5 s) this way.
    "--enable-features=DeferSpeculativeRFHCreation:create_speculative_rfh_delay_ms/60000/warmup_spare_process/false",
    "--hide-scrollbars",
    "--lang=en-US",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--proxy-server=http://127.0.0.1:9",  # beside the missing network: a request nobody answers fails at once
    "--proxy-bypass-list=<-loopback>",
    f"--js-flags=--max-old-space-size={_HEAP_MB}",
)
_ON_DEMAND = ("--enable-begin-frame-control", "--run-all-compositor-stages-before-draw")
"""For the headless shell alone: with both flags it draws a tab only on request, which saves a third of a page's CPU
(measured, bench.render); without the second one its pictures are empty. Chromium itself obeys the second one: it draws
nothing as long as any surface of its windows owes a frame, and some owe theirs for ever. Measured beside three more
browsers: with that flag 16 of 120 pictures never came, without it none of 120 was missing."""
_SHELL_NAME = "headless-shell"
"""In the names of the shell's program: `chromium-headless-shell`, `chrome-headless-shell`, `headless_shell`. What it
prints for `--version` is the same as Chromium's."""
_SHELL = "HeadlessChrome/"
"""What the headless shell calls itself on its pipe; Chromium says `Chrome/`, also without a window."""


class NoBrowser(Exception):
    """Chromium cannot be started; the text says why."""


class Browser:
    """A running Chromium. `pid`: its first process, and the number of the process group of them all.

    `connection` speaks to it; `has_ended` is set when it is gone. `draws_on_demand`: it is the headless shell, which
    opens a window at an address and draws a frame when it is asked for one. Made by `start`.
    """

    def __init__(self, pid: int, profile: Path, connection: Connection) -> None:
        self.pid = pid
        self._profile = profile
        self.connection = connection
        self.has_ended = asyncio.Event()
        self.draws_on_demand = False

    @classmethod
    async def start(cls, program: str, memory_max: int, flags: tuple[str, ...] | None = None) -> "Browser":
        """Raises NoBrowser. `memory_max`: bytes that all its processes may take, beyond what they share. `flags` of the
        caller's own are for measurements only.

        A shell under another name is driven as Chromium is.
        """
        path = find_chromium(program)
        if flags is None and is_named_as_shell(path):
            browser = await cls._start(path, memory_max, FLAGS + _ON_DEMAND)
            if browser.draws_on_demand:
                return browser
            await browser.close()  # Chromium under the shell's name must not have these flags
        return await cls._start(path, memory_max, FLAGS if flags is None else flags)

    @classmethod
    async def _start(cls, path: str, memory_max: int, flags: tuple[str, ...]) -> "Browser":
        profile = Path(tempfile.mkdtemp(prefix="gateway-render-"))
        to_browser, our_end = _pipe()
        our_start, from_browser = _pipe()
        words = [path, *flags, f"--user-data-dir={profile}", "about:blank"]
        try:
            pid = _spawn(words, profile, to_browser, from_browser)
        except OSError as error:
            os.close(our_end)
            os.close(our_start)
            shutil.rmtree(profile, ignore_errors=True)
            raise NoBrowser(f"{path}: {error.strerror}") from error
        finally:
            os.close(to_browser)
            os.close(from_browser)
        browser = cls(pid, profile, await _connect(our_start, our_end))
        browser._begin(memory_max)
        try:
            version = await browser.connection.call("Browser.getVersion", timeout_s=START_S)
            is_shell = str(version.get("product")).startswith(_SHELL)
            browser.draws_on_demand = is_shell and set(_ON_DEMAND) <= set(flags)
        except (BrowserGone, CommandFailed):
            await browser.close()
            raise NoBrowser(f"{path} ends at once or does not answer; its sandbox may not be permitted here") from None
        return browser

    def _begin(self, memory_max: int) -> None:
        loop = asyncio.get_running_loop()
        self._reading = loop.create_task(self.connection.run())
        self._reading.add_done_callback(lambda _: self.has_ended.set())
        self._watching = loop.create_task(self._watch(memory_max))

    async def close(self) -> None:
        """Ends every process and removes the profile."""
        self._watching.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._reading.cancel()
        await asyncio.gather(self._reading, self._watching, return_exceptions=True)
        await asyncio.to_thread(os.waitpid, self.pid, 0)  # it was killed, so it ends at once
        await asyncio.to_thread(shutil.rmtree, self._profile, ignore_errors=True)

    async def _watch(self, memory_max: int) -> None:
        """Ends processes of pages when all together take too much, and the browser when that is not enough."""
        while True:
            await asyncio.sleep(_WATCH_S)
            sizes = private_bytes(self.pid)
            excess = sum(sizes.values()) - memory_max
            if excess <= 0:
                continue
            renderers = {pid: size for pid, size in sizes.items() if is_renderer(pid)}
            for victim in victims(renderers, excess) or [self.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)


def find_chromium(program: str) -> str:
    """The path of the browser: `program`, or the first that is found. Raises NoBrowser."""
    for name in (
        [program]
        if program
        else ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]
    ):
        path = shutil.which(name)
        if path is not None:
            return path
    raise NoBrowser(f"{program or 'chromium'} is not installed")


def is_named_as_shell(path: str) -> bool:
    """Whether a program, or what its link leads to, has the headless shell's name."""
    return any(_SHELL_NAME in each.name.replace("_", "-") for each in (Path(path), Path(path).resolve()))


def private_bytes(group: int) -> dict[int, int]:
    """Memory of each process of a process group that it shares with no other: resident less shared, in bytes."""
    page = os.sysconf("SC_PAGE_SIZE")
    sizes = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if int(fields[2]) == group:
                    _, resident, shared = (folder / "statm").read_text().split()[:3]
                    sizes[int(folder.name)] = (int(resident) - int(shared)) * page
    return sizes


def victims(sizes: dict[int, int], excess: int) -> list[int]:
    """The processes to end so that `excess` bytes are free: largest first those above a page's heap, then the youngest.

    Many frames may have a process of 20 MB each: ending the largest of all would end every other page before them.
    """
    ended: list[int] = []
    for pid in sorted(sizes, key=lambda pid: (-sizes[pid] if sizes[pid] > _HEAP_MB << 20 else 0, -pid)):
        if excess <= 0:
            break
        ended.append(pid)  # numbers rise; where they begin again, an older page may end
        excess -= sizes[pid]
    return ended


def is_renderer(pid: int) -> bool:
    """Whether a process holds a page."""
    try:
        return b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are above the numbers that the browser expects, so that none of them is overwritten."""
    ends = os.pipe()
    above = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 16) for end in ends]
    for end in ends:
        os.close(end)
    return above[0], above[1]


def _spawn(words: list[str], profile: Path, to_browser: int, from_browser: int) -> int:
    """Starts the browser with the pipes as 3 and 4 in a process group of its own. Returns its pid. Raises OSError."""
    environment = {"HOME": str(profile), "TMPDIR": str(profile), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    pipes = [(os.POSIX_SPAWN_DUP2, to_browser, 3), (os.POSIX_SPAWN_DUP2, from_browser, 4)]
    return os.posix_spawn(words[0], words, environment, file_actions=[*nothing, *pipes], setpgroup=0)


async def _connect(source_fd: int, sink_fd: int) -> Connection:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source_fd, "rb", 0))
    sink, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(sink_fd, "wb", 0))
    return Connection(reader, sink)
