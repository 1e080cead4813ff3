"""judgelaw: what part of an LLM judge's disagreement is dice, prompt, answer order or interaction.

    import judgelaw as jl

    tensor = jl.VerdictTensor.from_table("calls.csv.gz")
    print(jl.decompose(tensor).macro())

Names load when they are first used, so that `import judgelaw` and `judgelaw --help` are immediate.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from judgelaw.analysis import Analysis, analyze
    from judgelaw.decide import Advice, Score
    from judgelaw.errors import (
        BudgetReachedError,
        DuplicateCallsError,
        IncompleteDesignError,
        IncompleteRunError,
        InputError,
        IntegrityError,
        JudgelawError,
        LeaseLostError,
        MissingExtraError,
        NotIdentifiedError,
        ProviderRefusedError,
        RunError,
        RunLockedError,
        StorageError,
        StudyChangedError,
        StudyError,
        TableError,
    )
    from judgelaw.estimate import Decomposition, decompose
    from judgelaw.runs import Run, RunStatus, advise, gate, score
    from judgelaw.tensor import VerdictTensor

_HOME = {
    "BudgetReachedError": "errors",
    "DuplicateCallsError": "errors",
    "IncompleteDesignError": "errors",
    "IncompleteRunError": "errors",
    "InputError": "errors",
    "IntegrityError": "errors",
    "JudgelawError": "errors",
    "LeaseLostError": "errors",
    "MissingExtraError": "errors",
    "NotIdentifiedError": "errors",
    "ProviderRefusedError": "errors",
    "RunError": "errors",
    "RunLockedError": "errors",
    "StorageError": "errors",
    "StudyChangedError": "errors",
    "StudyError": "errors",
    "TableError": "errors",
    "Analysis": "analysis",
    "analyze": "analysis",
    "Decomposition": "estimate",
    "decompose": "estimate",
    "Advice": "decide",
    "advise": "runs",
    "Score": "decide",
    "score": "runs",
    "gate": "runs",
    "Run": "runs",
    "RunStatus": "runs",
    "VerdictTensor": "tensor",
}

_PACKAGES = (
    "analysis",
    "decide",
    "estimate",
    "replication",
    "tables",
    "uncertainty",
    "worlds",
)
_FORMER = {"plan": "decide", "simulate": "replication"}  # names of the first release

__all__ = [  # noqa: RUF022 - grouped as a reader looks for them: errors, estimates, runs, the waist
    "BudgetReachedError",
    "DuplicateCallsError",
    "IncompleteDesignError",
    "IncompleteRunError",
    "InputError",
    "IntegrityError",
    "JudgelawError",
    "LeaseLostError",
    "MissingExtraError",
    "NotIdentifiedError",
    "ProviderRefusedError",
    "RunError",
    "RunLockedError",
    "StorageError",
    "StudyChangedError",
    "StudyError",
    "TableError",
    "Analysis",
    "analyze",
    "Decomposition",
    "decompose",
    "Advice",
    "advise",
    "Score",
    "score",
    "gate",
    "Run",
    "RunStatus",
    "VerdictTensor",
]


def __getattr__(name: str) -> Any:
    """Import a public name, or one of the subpackages, when it is first asked for."""
    if name in _HOME:
        value = getattr(import_module(f"judgelaw.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name in _PACKAGES:
        return import_module(f"judgelaw.{name}")
    if name in _FORMER:
        return import_module(f"judgelaw.{_FORMER[name]}")
    raise AttributeError(f"module 'judgelaw' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, *_PACKAGES, "__version__"])
