"""Worker processes that serve one socket: started together, replaced together, drained together.

Theory of operation. A `WorkerGroup` is the workers of one configuration; the pool has one group that serves. The parent
serves nothing itself. A single worker's life is described in `worker_process`.

| group    | invariant                               | leaves it when                                        |
|----------|-----------------------------------------|-------------------------------------------------------|
| starting | its workers start on the pool's sockets | all are ready: serving; one keeps dying, or           |
|          |                                         | `start_s` is over: WorkersFailed, then `stop`         |
| serving  | dead and silent workers are replaced    | `replace` put another group in its place, or          |
|          |                                         | `finish`: draining                                    |
| draining | no restarts; running requests go on, and| all workers have ended; those that take longer than   |
|          | after `replace` background runs, too    | they may are killed: ended                            |

`start` comes first and once, `finish` last and once; `replace` between them, never two at the same time. While
`replace` waits for the new group, the old one serves; if the new one fails, the old one stays. Knows no signals of the
operator and no systemd.
"""

import asyncio
import shutil
from pathlib import Path

from gateway.config.environment import Environment, worker_environment
from gateway.config.settings import Config
from gateway.runtime.fork_server import ForkServer
from gateway.runtime.service import MAX_OLD, ServiceContext
from gateway.runtime.worker_process import (
    AFTER_DRAIN_S,
    WatchdogSettings,
    WorkerContext,
    WorkerProcess,
    WorkersFailed,
)
from gateway.runtime.worker_start import metrics_folder, remove_metrics


class WorkerPool:
    """All workers of a gateway. A `service.Service`."""

    def __init__(
        self,
        config: Config,
        context: ServiceContext,
        watchdog: WatchdogSettings | None = None,
        fork_server: ForkServer | None = None,
    ) -> None:
        """`fork_server`: one that was forked ahead, with `metrics_folder` of this process."""
        self._sockets = context.sockets
        folder = _fresh_metrics_folder(context.environment, config.state_dir)
        self._context = WorkerContext(
            context.sockets, context.environment, folder, context.servers.ports, context.servers.waiting,
            fork_server or ForkServer(worker_environment(context.environment, folder)),
        )  # fmt: skip
        self._watchdog = watchdog or WatchdogSettings()
        self._group = WorkerGroup(config, self._context, self._watchdog)
        self._draining: dict[WorkerGroup, asyncio.Task[None]] = {}

    def pids(self) -> list[int]:
        """Process ids of the workers that serve."""
        return [worker.pid for worker in self._group.workers if worker.pid is not None]

    async def start(self) -> None:
        """Start every worker and wait until all are ready. Raises WorkersFailed."""
        self._group.start()
        await self._group.wait_ready()

    async def replace(self, config: Config) -> None:
        """Serve another configuration with new workers, then drain the old ones without waiting for them.

        Raises WorkersFailed when the new ones do not become ready; then the old ones stay.
        """
        fresh = WorkerGroup(config, self._context, self._watchdog)
        fresh.start()
        try:
            await fresh.wait_ready()
        except BaseException:
            await fresh.stop(replaced=True)
            raise
        old = self._group
        self._draining[old] = task = asyncio.create_task(old.stop(replaced=True))
        task.add_done_callback(lambda _: self._draining.pop(old))
        if len(self._draining) > MAX_OLD:
            next(iter(self._draining)).end_runs()
        self._group = fresh

    def is_fresh(self) -> bool:
        """Whether no worker that serves has been silent for too long."""
        return not any(worker.is_stuck for worker in self._group.workers)

    async def finish(self, replaced: bool) -> None:
        """Let running requests end, and wait until every worker has ended."""
        self._sockets.product.close()  # the workers have it too, until they stop accepting
        stopping = asyncio.create_task(self._group.stop(replaced))
        await asyncio.sleep(0)
        for group in (self._group, *self._draining):
            group.end_runs()
        await asyncio.gather(stopping, *self._draining.values())
        await self._context.fork_server.close()
        remove_metrics(self._context.metrics_folder)


class WorkerGroup:
    """The workers of one configuration; the module docstring has its states."""

    def __init__(self, config: Config, context: WorkerContext, watchdog: WatchdogSettings) -> None:
        self._config = config
        self._watchdog = watchdog
        self.workers = [
            WorkerProcess(config, context, watchdog, self._has_answering) for _ in range(config.server.workers)
        ]
        self._tasks: list[asyncio.Task[None]] = []

    def _has_answering(self) -> bool:
        return any(worker.answers for worker in self.workers)

    def start(self) -> None:
        """Start every worker; returns at once."""
        self._tasks = [asyncio.create_task(worker.run()) for worker in self.workers]

    async def wait_ready(self) -> None:
        """Wait until every worker is ready. Raises WorkersFailed when one keeps dying or takes too long."""
        try:
            async with asyncio.timeout(self._watchdog.start_s):
                await asyncio.gather(*(worker.wait_ready() for worker in self.workers))
        except TimeoutError:
            raise WorkersFailed(
                f"the workers are not ready after {self._watchdog.start_s:g} s; the log says why"
            ) from None

    def end_runs(self) -> None:
        """Have workers that were replaced end their background runs."""
        for worker in self.workers:
            worker.end_runs()

    async def stop(self, replaced: bool) -> None:
        """Drain every worker and wait until all have ended; kill those that take too long. `replaced` says that others
        serve already (see `AppInstance.finish`)."""
        for worker in self.workers:
            worker.stop(replaced)
        if self._tasks:
            runs_s = self._config.responses.background.max_s if replaced else 0
            _, late = await asyncio.wait(self._tasks, timeout=self._config.server.drain_s + AFTER_DRAIN_S + runs_s)
            for worker in self.workers if late else ():
                worker.kill()
            await asyncio.gather(*self._tasks, return_exceptions=True)


def _fresh_metrics_folder(environment: Environment, state_dir: Path) -> Path:
    """The folder for this supervisor's workers, empty. Those of others are removed unless one of them still drains."""
    folder = metrics_folder(environment, state_dir)
    shutil.rmtree(folder if environment.handover else folder.parent, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
