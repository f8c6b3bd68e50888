"""A child process that does what its jobs say. `python -m tests.support.scripted_child [failed|silent|crash]`."""

import os
import signal
import sys
import time

from gateway.child.worker import JobPipe, WorkerJob, limit_process, limited


def run(job: WorkerJob) -> None:
    match job.head.get("do"):
        case "echo":
            job.end({"text": job.head.get("text", "")}, job.body)
        case "count":
            for number in range(job.head["to"]):
                job.send({"number": number})
            job.end({"count": job.head["to"]})
        case "alive":
            for _ in range(job.head["times"]):
                time.sleep(0.1)
                job.alive()
            job.end({"ok": True})
        case "until cancelled":
            job.send({"begun": True})
            while not job.is_cancelled:
                time.sleep(0.01)
            job.end({"dropped": True})
        case "hang":
            job.send({"begun": True})
            time.sleep(60)
        case "exit":
            os._exit(3)
        case "cpu":
            with limited(1 << 40, 0.2):
                while True:
                    pass
        case "memory":
            with limited(300_000_000, 10):
                try:
                    bytearray(1 << 30)
                except MemoryError:
                    job.end({"refused": "memory"})
        case "abort":
            os.kill(os.getpid(), signal.SIGABRT)
        case "print":
            print("a library prints", flush=True)
            job.end({"printed": True})
        case "large":
            job.end({}, bytes(job.head["size"]))


def main(mode: str) -> None:
    limit_process()
    channel = JobPipe()
    if mode == "failed":
        channel.fail({"message": "no model"})
        return
    if mode == "silent":
        time.sleep(60)
    if mode == "crash":
        os._exit(1)
    channel.hello({"version": 3})
    held: list[WorkerJob] = []
    while True:
        job = channel.next_job()
        if job.head.get("do") == "hold":
            held.append(job)  # answered after the next job: answers may come in any order
            continue
        run(job)
        for each in held:
            each.end({"text": "held"})
        held.clear()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
