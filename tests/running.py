"""A whole gateway for tests, run by the same runner as `gateway serve`."""
