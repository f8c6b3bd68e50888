"""What aiohttp itself refuses, in the gateway's words: unknown paths, and methods that a path does not take."""

import importlib

from aiohttp import web

from gateway.errors import GatewayError, InvalidRequest, MethodNotAllowed, NotFound
from gateway.web.state import CALL

_MAX_COMPARED_CHARS = 100
"""Characters of an unknown path that are compared; the longest of ours has 50."""


def from_http_exception(request: web.Request, error: web.HTTPException) -> GatewayError:
    """MethodNotAllowed, NotFound, or InvalidRequest for any other error of aiohttp's own."""
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = tuple(sorted(error.allowed_methods))
        return MethodNotAllowed(f"{request.method} is not allowed here; allowed: {', '.join(allowed)}", allowed)
    if error.status == 404:
        server = request[CALL].server
        paths, console = server.endpoints.paths, server.console_url
        if request.path == "/" and console:
            return NotFound(
                f"this is an interface for programs; the console is at {console}/, its manual at {console}/docs/"
            )
        return NotFound(f"no such path; {_suggestion(request.path, paths)}the paths are {', '.join(paths)}")
    return InvalidRequest(f"the request was refused ({error.status})")


def _suggestion(path: str, paths: tuple[str, ...]) -> str:
    """`did you mean X? ` where one of our paths is close: the same end (`/chat/completions`, `/v1/v1/models`, a slash
    too many), or one with few letters changed; else empty."""
    wanted = path[:_MAX_COMPARED_CHARS].rstrip("/")
    fixed = [each for each in paths if "{" not in each]
    ends = [each for each in fixed if wanted and (each.endswith(wanted) or wanted.endswith(each))]
    near = ends or importlib.import_module("difflib").get_close_matches(wanted, fixed, n=1, cutoff=0.75)
    return f"did you mean {near[0]}? " if near else ""
