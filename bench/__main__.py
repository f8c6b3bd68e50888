"""`make bench`: every measurement in turn; each can be run alone, `python -m bench.NAME --help`."""

import importlib
import pkgutil
import sys

import bench

_NOT_MEASUREMENTS = {
    "__main__",
    "pii_makers",
    "pii_rows",
    "pii_presidio",
    "upstream",
    "bare_proxy",
    "load",
    "mcp_servers",
    "documentation",
    "planted",
    "soak_servers",
    "fuzz_targets",
}


def main() -> None:
    names = sys.argv[1:] or [m.name for m in pkgutil.iter_modules(bench.__path__) if m.name not in _NOT_MEASUREMENTS]
    for name in names:
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").main([])


if __name__ == "__main__":
    main()
