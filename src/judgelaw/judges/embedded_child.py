"""The child process that serves a model; `embedded` runs this file as a script.

It imports nothing of judgelaw, so that it is up as soon as the model is loaded. The first line of
standard input holds the settings, the first line of standard output the address. It leaves when
standard input ends or when its parent is gone, so no kill of the parent leaves it behind.
"""

import json
import os
import sys
import threading
import time
from io import FileIO
from typing import Any

from judgelaw.processes import leave_endings_to_parent

_ORPHAN_CHECK_S = 0.5


def main() -> None:
    """Serve until standard input ends."""
    # The parent decides when to stop: a Ctrl-C in the terminal must not cut replies under way.
    leave_endings_to_parent()
    answers = _claim_stdout()
    # Unbuffered: a thread that waits inside a buffered reader makes the interpreter abort at exit.
    orders = FileIO(0)
    settings = json.loads(orders.readline())
    threading.Thread(target=_leave_at_end_of, args=(orders,), daemon=True).start()
    # A process that the parent forked may hold the other end of the pipe open: look twice.
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()
    # The name keeps the server alive: it stops when it is collected.
    try:
        server = _serve(settings)
    except RuntimeError as error:
        # llama.cpp has written why; a traceback through this file would only bury it.
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        os._exit(1)
    print(json.dumps({"url": server.listening_address}), file=answers, flush=True)
    threading.Event().wait()


def _serve(settings: dict[str, Any]) -> Any:
    import xllamacpp  # noqa: PLC0415 - loads 100 MB, after the watch over the parent has begun

    params = xllamacpp.CommonParams()
    params.model.path = settings["model_path"]
    params.model_alias = {settings["alias"]}
    params.port = 0
    params.ui = False
    # A page in a browser on this machine must not reach the server.
    params.cors_origins = "http://127.0.0.1"
    params.verbosity = settings["verbosity"]
    params.n_parallel = settings["n_parallel"]
    params.n_ctx = settings["n_ctx"]
    params.n_ubatch = settings["n_ubatch"]
    params.cache_ram_mib = settings["cache_ram_mib"]
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    # Without these, llama.cpp trims the law (top-k 40, top-p .95, min-p .05) at temperature .8.
    params.sampling.temp = 1.0
    params.sampling.top_k = 0
    params.sampling.top_p = 1.0
    params.sampling.min_p = 0.0
    if settings["grammar"] is not None:
        kind = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
        params.sampling.grammar = xllamacpp.CommonGrammar(kind, settings["grammar"])
    return xllamacpp.Server(params)


def _claim_stdout() -> Any:
    """Keep standard output for the address; whatever else is printed goes to the log."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _leave_at_end_of(orders: FileIO) -> None:
    while orders.read(4096):
        pass
    # Collecting a server with requests in flight hangs, so nothing is collected.
    os._exit(0)


def _leave_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_ORPHAN_CHECK_S)
    os._exit(0)


if __name__ == "__main__":
    main()
