"""Times every pattern of Python's `re` in the product, and notes those that are linear for the tests.

`python -m bench.pattern_times`: minutes. Prints the patterns that cost too much, and exits with 1 where there is one.
"""

import sys

from tests.contract.test_patterns import KNOWN, digest, every_pattern, fault


def main() -> int:
    """Time all; write `tests/contract/timed_patterns.txt`."""
    faults, linear = [], set()
    for where, pattern in every_pattern():
        if found := fault(where, pattern):
            faults.append(found)
        else:
            linear.add(digest(pattern))
    rows = sorted(linear)
    KNOWN.write_text("".join(" ".join(rows[start : start + 10]) + "\n" for start in range(0, len(rows), 10)))
    sys.stdout.write("".join(f"{each}\n" for each in faults) + f"{len(rows)} patterns are linear\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
