"""The gateway beside other programs of the kind, in one run: `python -m bench.peers`."""
