"""Names that the first release offered at `judgelaw` itself: they keep importing, unlisted.

Errors are at `judgelaw.errors` now, and a room is imported by its own name, `judgelaw.estimate`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judgelaw import (
        analysis,
        decide,
        estimate,
        replication,
        simulate,
        tables,
        uncertainty,
        worlds,
    )
    from judgelaw.errors import (
        BudgetReachedError,
        DuplicateCallsError,
        IncompleteDesignError,
        IncompleteRunError,
        InputError,
        IntegrityError,
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
    from judgelaw.runs import RunStatus

__all__ = [
    "BudgetReachedError",
    "DuplicateCallsError",
    "IncompleteDesignError",
    "IncompleteRunError",
    "InputError",
    "IntegrityError",
    "LeaseLostError",
    "MissingExtraError",
    "NotIdentifiedError",
    "ProviderRefusedError",
    "RunError",
    "RunLockedError",
    "RunStatus",
    "StorageError",
    "StudyChangedError",
    "StudyError",
    "TableError",
    "analysis",
    "decide",
    "estimate",
    "replication",
    "simulate",
    "tables",
    "uncertainty",
    "worlds",
]


def __getattr__(name: str) -> Any:
    """Import a name of the first release."""
    if name not in __all__:
        raise AttributeError(f"module 'judgelaw' has no attribute {name!r}")
    if name.islower():
        return import_module(f"judgelaw.{name}")
    home = "runs" if name == "RunStatus" else "errors"
    return getattr(import_module(f"judgelaw.{home}"), name)
