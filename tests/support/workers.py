"""Real `judgelaw` processes that start in milliseconds, forked from one that has all loaded."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_ZYGOTE = """
import atexit, faulthandler, gc, json, os, signal, sys, threading
import aiohttp, psycopg, scipy.optimize, scipy.special
import judgelaw.acquire.worker, judgelaw.cli.run, judgelaw.cli.worker, judgelaw.judges.http
import judgelaw.analysis, judgelaw.runs.auditing, judgelaw.tables.read, judgelaw.wire
import judgelaw.decide, judgelaw.judges.command, judgelaw.judges.python, judgelaw.runs.stopping
from judgelaw.cli import main

# Whoever waits for calls of others looks more often than anybody outside tests would.
judgelaw.acquire.worker._LOOK_S = 0.05


def leave(main, argv):
    # End as an interpreter does, all but taking every module apart, which takes 0.2 s.
    try:
        main(argv)
    except SystemExit as left:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(left.code or 0)


gc.freeze()  # nobody looks through what was loaded, and no page of it is copied for that
for line in sys.stdin:
    order = json.loads(line)
    if "argv" in order:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever tests were started under
            log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            faulthandler.register(signal.SIGUSR1, all_threads=True)
            os.environ.clear()
            os.environ.update(order["env"])
            exec(order["first"])
            leave(main, order["argv"])
        print(pid, flush=True)
    else:
        pid, status = os.waitpid(order["poll"], os.WNOHANG)
        print("running" if pid == 0 else os.waitstatus_to_exitcode(status), flush=True)
os._exit(0)
"""


class Worker:
    """One process; `log` holds what it said."""

    def __init__(self, fleet: "Fleet", pid: int, log: Path) -> None:
        self._fleet, self.pid, self._log = fleet, pid, log
        self._code: int | None = None

    @property
    def said(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def code(self) -> int | None:
        """The exit code; None while it runs."""
        if self._code is None:
            answer = self._fleet.order({"poll": self.pid})
            self._code = None if answer == "running" else int(answer)
        return self._code

    def wait(self, timeout_s: float = 60.0) -> int:
        deadline = time.monotonic() + timeout_s
        while (code := self.code()) is None:
            if time.monotonic() > deadline:
                self.send(signal.SIGUSR1)  # it says where it stands
                time.sleep(0.5)
                raise AssertionError(f"still running, said: {self.said}")
            time.sleep(0.01)
        return code

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL


class Fleet:
    """Starts processes and ends those that are left."""

    def __init__(self) -> None:
        self._workers: list[Worker] = []
        self._started = 0
        self._zygote = subprocess.Popen(
            [sys.executable, "-c", _ZYGOTE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def order(self, what: dict) -> str:
        print(json.dumps(what), file=self._zygote.stdin, flush=True)
        return self._zygote.stdout.readline().strip()

    def start(self, folder: Path, *argv: object, first: str = "") -> Worker:
        """Start `judgelaw ARGV`; what it says goes to a file in the folder.

        The environment is that of the test at this moment; code in `first` is executed before. The
        process is a group of its own, so that signals reach it alone.
        """
        self._started += 1
        log = folder / f"worker-{self._started}.log"
        words = [str(a) for a in argv]
        order = {"argv": words, "log": str(log), "env": dict(os.environ), "first": first}
        pid = int(self.order(order))
        worker = Worker(self, pid, log)
        self._workers.append(worker)
        return worker

    def end(self) -> None:
        """End every process that still runs."""
        for worker in self._workers:
            if worker.code() is None:
                worker.send(signal.SIGCONT)
                worker.kill()
        self._workers.clear()

    def close(self) -> None:
        self.end()
        self._zygote.stdin.close()
        self._zygote.stdout.close()
        self._zygote.wait(10)
