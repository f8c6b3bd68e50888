"""`make bench`: every measurement in turn, each in a process of its own; `python -m bench.NAME --help` runs one alone.

A measurement that needs data or programs that are not here says so, and the next one follows. `bench.peers`, which
installs other programs, is not among them.
"""

import subprocess
import sys
from pathlib import Path


def main() -> None:
    files = sorted(Path(__file__).parent.glob("[a-z]*.py"))
    programs = [file.stem for file in files if '__name__ == "__main__"' in file.read_text()]
    for name in sys.argv[1:] or programs:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False)


if __name__ == "__main__":
    main()
