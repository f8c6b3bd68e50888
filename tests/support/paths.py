"""Where the files stand that tests read: the checkout and its golden files."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
CLIENTS = ROOT / "tests" / "clients"
