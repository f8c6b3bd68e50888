"""Which changes of a configuration only a restart applies."""

from gateway.config.settings import Config

_NEEDS_RESTART = ("server.host", "server.port", "server.backlog", "ops", "local_llm", "local_ocr", "log")
"""Settings that a reload cannot apply, since sockets, embedded servers and the log outlive configurations."""


def needs_restart(before: Config, after: Config, has_workers: bool) -> list[str]:
    """The key paths that differ and that a reload leaves as they were. `has_workers`: it serves in processes of their
    own, whose number a reload can change."""
    paths = [path for path in _NEEDS_RESTART if _setting(before, path) != _setting(after, path)]
    if not has_workers and after.server.workers > 1:
        paths.append("server.workers")
    return paths


def _setting(config: Config, path: str) -> object:
    value: object = config
    for name in path.split("."):
        value = getattr(value, name)
    return value
