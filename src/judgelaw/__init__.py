"""judgelaw: what part of an LLM judge's disagreement is dice, prompt, answer order or interaction.

    import judgelaw as jl

    tensor = jl.VerdictTensor.from_table("calls.csv.gz")
    print(jl.decompose(tensor).macro())

Names load when they are first used, so that `import judgelaw` and `judgelaw --help` are immediate.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from judgelaw.doors import lazy

__version__ = "0.1.0"

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis as Analysis, analyze as analyze
    from judgelaw.errors import (
        BudgetReachedError as BudgetReachedError,
        DuplicateCallsError as DuplicateCallsError,
        IncompleteDesignError as IncompleteDesignError,
        IncompleteRunError as IncompleteRunError,
        InputError as InputError,
        IntegrityError as IntegrityError,
        JudgelawError as JudgelawError,
        LeaseLostError as LeaseLostError,
        MissingExtraError as MissingExtraError,
        NotIdentifiedError as NotIdentifiedError,
        ProviderRefusedError as ProviderRefusedError,
        RunError as RunError,
        RunLockedError as RunLockedError,
        StorageError as StorageError,
        StudyChangedError as StudyChangedError,
        StudyError as StudyError,
        TableError as TableError,
    )
    from judgelaw.estimate import Decomposition as Decomposition, decompose as decompose
    from judgelaw.runs import Run as Run, RunStatus as RunStatus, gate as gate
    from judgelaw.tensor import VerdictTensor as VerdictTensor

_ROOMS = ("analysis", "decide", "estimate", "replication", "tables", "uncertainty", "worlds")
_FORMER = {"plan": "decide", "simulate": "replication"}  # names of the first release
_offered, _listed = lazy(__name__)


def __getattr__(name: str) -> Any:
    """Import a public name, or a room, when it is first asked for."""
    if name in _ROOMS or name in _FORMER:
        return import_module(f"judgelaw.{_FORMER.get(name, name)}")
    return _offered(name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*_listed(), *_ROOMS})
