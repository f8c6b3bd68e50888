"""What a supervisor and its workers say to each other. Imports nothing that a small supervisor does not need.

The supervisor hands a worker an `Assignment` (`worker_start` says how, `fork_server` how a worker is started). After
that they talk over the same socket pair, one line each; the format is ours. The worker sends `ready` when it listens,
and `beat` every `BEAT_S` from its event loop. It receives the names of the embedded servers that are not ready,
separated by spaces, whenever they change, `-replaced` when other workers have taken over, and `-end` when its
background runs, which go on then, have to end. The end of the channel
means that the other side has ended.
"""

from dataclasses import dataclass

from gateway.config.settings import Config

BEAT_S = 0.1
"""Chosen: well below the silence after which a spare steps in (`WatchdogSettings.relief_s`). A beat costs 0.1 ms of CPU
in both processes. At half, an idle machine wakes up twice as often; at double, one late beat starts a spare."""

READY, BEAT, REPLACED, END = b"ready\n", b"beat\n", b"-replaced\n", b"-end\n"
"""Lines of the channel. No embedded server has a name that begins with `-`."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker serves, and the ports of the embedded servers by name, which the supervisor runs.

    `socket_outlives_us` and `logs_to_journal` are as in `Sockets` and `Environment`.
    """

    config: Config
    ports: dict[str, int]
    metrics_folder: str
    socket_outlives_us: bool
    logs_to_journal: bool
