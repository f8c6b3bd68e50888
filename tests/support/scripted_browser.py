"""A browser that is none: speaks the DevTools protocol on its pipes 3 and 4 as Chromium does, by a script of the test.

`scripted_browser(folder, play)` makes a program, named as the headless shell where it is one. `play` says what its page
does: `asks` are requests that it makes once it has its document (`{url, method?, kind?, headers?, posts?}`), `does`
a list of oddities, see `_Page`, `silent` the methods that get no answer. The page's HTML is its document with the body
of every answer put behind it, so that tests see what reached the page.
"""

import base64
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT

Message = dict[str, Any]
_PNG = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAAAAAA6mKC9AAAAD0lEQVR4nGP4jwYYRrYAAID5/wEokJxdAAAAAElFTkSuQmCC"
"""A white picture."""


def scripted_browser(folder: Path, play: Message | None = None) -> str:
    """The path of a program that behaves as `play` says."""
    program = folder / ("scripted-headless-shell" if "shell" in (play or {}).get("does", ()) else "scripted-browser")
    program.with_suffix(".json").write_text(json.dumps(play or {}))
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        f"from tests.support.scripted_browser import run\nrun({str(program.with_suffix('.json'))!r})\n"
    )
    program.chmod(0o755)
    return str(program)


class _Page:
    """The one page, and what it does: `dies` ends the process when it navigates, `crashes` loses the page, `hangs`
    never comes to rest, `no_text` cannot be read, `garbles` sends messages that are none, `leads_away` ends at an
    address that is no web page, `opens` a window, `talks` in a dialog, `refuses` to navigate, is `drawn` on a canvas,
    is `windowless`, gives a `blank` picture or one that is `large`. With `shell` the browser is the headless shell,
    else Chromium itself.
    """

    def __init__(self, play: Message) -> None:
        self._play = play
        self._does = frozenset(play.get("does", ()))
        self._silent = frozenset(play.get("silent", ()))
        self._awaits_all_surfaces = "--run-all-compositor-stages-before-draw" in sys.argv
        if self._awaits_all_surfaces and "shell" not in self._does:
            self._silent |= {"Page.captureScreenshot"}  # as Chromium, which may then draw nothing for ever
        self._html = ""
        self._url = ""
        self._open: set[str] = set()
        self._last = 0
        self._is_running = False
        self._waits_for = ""
        self._context = 0

    def send(self, message: Message) -> None:
        _write(json.dumps(message).encode() + b"\0")

    def event(self, method: str, parameters: Message, *, of_browser: bool = False) -> None:
        session = {} if of_browser else {"sessionId": f"s{self._context}"}
        self.send({"method": method, "params": parameters, **session})

    def on(self, message: Message) -> None:
        method, parameters = message["method"], message.get("params", {})
        if method == "Page.navigate" and "dies" in self._does:
            os._exit(1)
        if method == "Target.createBrowserContext":
            self._context += 1
        if method == "Target.createTarget":
            self._waits_for = parameters["url"]
            if "windowless" not in self._does:
                self.open_window(f"t{self._context}", f"s{self._context}")
        result = self.result(method, parameters)
        if method in self._silent:
            return
        self.send({"id": message["id"], "result": result, "sessionId": message.get("sessionId", "")})
        if method == "Page.navigate" and parameters["url"] != "about:blank":
            self.navigate(parameters["url"])
        elif method == "Runtime.runIfWaitingForDebugger" and self._waits_for not in ("", "about:blank"):
            self.navigate(self._waits_for)
        elif method in ("Fetch.fulfillRequest", "Fetch.failRequest"):
            self.end_request(method, parameters)
        elif method == "Emulation.setVirtualTimePolicy" and parameters.get("budget"):
            self._is_running = True
            self.rest()

    def open_window(self, target: str, session: str) -> None:
        info = {"type": "page", "targetId": target, "browserContextId": f"c{self._context}"}
        self.event("Target.attachedToTarget", {"targetInfo": info, "sessionId": session}, of_browser=True)

    def result(self, method: str, parameters: Message) -> Message:
        if method == "Runtime.evaluate":
            if "outerHTML" not in parameters["expression"]:
                return {"result": {"value": "drawn" in self._does and "canvas" in parameters["expression"]}}
            url = "chrome-error://x/" if "leads_away" in self._does else self._url
            return {"result": {} if "no_text" in self._does else {"value": {"url": url, "html": self._html}}}
        if method == "Page.navigate" and "refuses" in self._does:
            return {"errorText": "net::ERR_ABORTED"}
        results: dict[str, Message] = {
            "Target.createBrowserContext": {"browserContextId": f"c{self._context}"},
            "Target.createTarget": {"targetId": f"t{self._context}"},
            "Browser.getVersion": {"product": "HeadlessChrome/156.0" if "shell" in self._does else "Chrome/156.0"},
            "HeadlessExperimental.beginFrame": {"screenshotData": _PNG} if self._awaits_all_surfaces else {},
            "Page.createIsolatedWorld": {"executionContextId": 1},
            "Page.captureScreenshot": {}
            if "blank" in self._does
            else {"data": _PNG * (9 if "large" in self._does else 1)},
        }
        return results.get(method, {})

    def navigate(self, url: str) -> None:
        self._url, self._html, self._is_running = url, "", False
        if "garbles" in self._does:
            for odd in (b"{", b"[]", b'{"id": 99}', b'{"method": 1}', b'{"method": "x", "sessionId": "no"}'):
                _write(odd + b"\0")
            for odd_request in ({}, {"requestId": 1}, {"requestId": "r", "request": {}, "resourceType": "Fetch"}):
                self.event("Fetch.requestPaused", odd_request)
            self.event("Target.attachedToTarget", {"sessionId": 5})
        if "crashes" in self._does:
            self.event("Inspector.targetCrashed", {})
        if "opens" in self._does:
            self.open_window("popup", "popup")
        if "talks" in self._does:
            self.event("Page.javascriptDialogOpening", {"message": "hello"})
        self.request({"url": url, "kind": "Document"})

    def request(self, ask: Message) -> None:
        self._last += 1
        number = f"r{self._last}"
        self._open.add(number)
        request: Message = {"url": ask["url"], "method": ask.get("method", "GET"), "headers": ask.get("headers", {})}
        if "posts" in ask:
            posted = base64.b64encode(ask["posts"].encode()).decode()
            request |= {"hasPostData": True, "postDataEntries": [{"bytes": posted}]}
        kind = ask.get("kind", "Fetch")
        self.event(
            "Fetch.requestPaused",
            {"requestId": number, "request": request, "resourceType": kind, "frameId": f"t{self._context}"},
        )

    def end_request(self, method: str, parameters: Message) -> None:
        self._open.discard(parameters["requestId"])
        body = base64.b64decode(parameters.get("body", "")).decode()
        how = f"[{parameters['responseCode']}]" if method == "Fetch.fulfillRequest" else "[refused]"
        is_document = parameters["requestId"] == f"r{self._last}" and not self._html
        self._html += body if is_document else f"{how}{body}"
        if is_document:
            if method == "Fetch.fulfillRequest":
                frame = {"id": f"t{self._context}", "url": "http://93.184.216.34/"}
                self.event("Page.frameNavigated", {"frame": frame})
            for ask in self._play.get("asks", ()):
                self.request(ask)
        self.rest()

    def rest(self) -> None:
        if self._is_running and not self._open and "hangs" not in self._does:
            self.event("Emulation.virtualTimeBudgetExpired", {})


def run(script: str) -> None:
    """The program: reads commands until its pipe ends."""
    page = _Page(json.loads(Path(script).read_text()))
    if "ends" in page._does:
        return
    if "sleeps" in page._does:
        time.sleep(600)
    kept = b""
    while piece := os.read(3, 65_536):
        *whole, kept = (kept + piece).split(b"\0")
        for message in whole:
            page.on(json.loads(message))


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(4, data) :]
