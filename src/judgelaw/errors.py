"""Every exception that judgelaw raises on purpose.

    JudgelawError                      70  a defect of ours unless a subclass says otherwise
    ├── InputError (ValueError)         2  what was handed in breaks a rule
    │   ├── TableError                  2  a calls table, with file and line
    │   │   ├── UnclearTableError       2  a table that can be read in several ways
    │   │   ├── DuplicateCallsError     2  the same call twice
    │   │   └── IncompleteDesignError   2  cells without the calls that the estimate needs
    │   ├── JudgeFunctionError          2  a judge function that fails by an error of its own
    │   └── StudyError                  2  a study file, with file, line and key
    ├── NotIdentifiedError              2  the design cannot answer the question asked
    ├── RunError                        3  a run that cannot go on as asked
    │   ├── IncompleteRunError          3  calls are still open; the same command resumes
    │   ├── RunLockedError              3  another process holds the run
    │   ├── LeaseLostError              3  a worker was away too long; others have its calls
    │   ├── StorageError                3  the disk is full, read-only or broken
    │   └── StudyChangedError           2  the study differs from the one that was frozen
    ├── IntegrityError                  4  what is stored contradicts what was frozen
    ├── ProviderRefusedError            5  a provider refused the key, the model or the request
    ├── BudgetReachedError              6  the declared budget or deadline is used up
    └── MissingExtraError               2  an optional dependency is not installed

The number is the exit code of the command line. A message gives the value, the rule and the remedy.
"""

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""What is wrong with the disk, and not with the path that was named."""


class JudgelawError(Exception):
    """The root: `except JudgelawError` catches everything that judgelaw raises on purpose."""

    exit_code: ClassVar[int] = 70


class InputError(JudgelawError, ValueError):
    """What was handed in breaks a rule."""

    exit_code = 2


class TableError(InputError):
    """A calls table breaks the contract."""


class UnclearTableError(TableError):
    """A calls table can be read in several ways; what would settle each of them is in `problems`.

    Attributes:
        problems: of `judgelaw.tables.reading.Problem`, in the sequence of the message.
    """

    def __init__(self, message: str, problems: "Sequence[Any]" = ()) -> None:
        """Hold the problems beside their words."""
        super().__init__(message)
        self.problems = tuple(problems)


class DuplicateCallsError(TableError):
    """A calls table holds the same logical call more than once."""


class IncompleteDesignError(TableError):
    """Cells lack the calls that the estimate needs."""


class StudyError(InputError):
    """A study file breaks a rule; the message starts with `file:line: key`."""


class JudgeFunctionError(InputError):
    """A judge function failed by an error of its own, or returned what is no verdict.

    Nothing is asked again for it; what was answered is saved, and the same line goes on.
    """


class NotIdentifiedError(JudgelawError):
    """The design cannot answer the question, however large the sample of items."""

    exit_code = 2


class RunError(JudgelawError):
    """A run cannot go on as asked."""

    exit_code = 3


class IncompleteRunError(RunError):
    """Calls are still open; the same command resumes."""


class RunLockedError(RunError):
    """Another process holds the run."""


class LeaseLostError(RunError):
    """A worker was away for longer than its lease: what it held is in other hands."""


class StorageError(RunError):
    """The disk is full, read-only or broken; nothing is wrong with what was asked."""


class StudyChangedError(RunError):
    """The study differs from the one that was frozen."""

    exit_code = 2


class IntegrityError(JudgelawError):
    """What is stored contradicts what was frozen."""

    exit_code = 4


class ProviderRefusedError(JudgelawError):
    """A provider refused the key, the model or the request."""

    exit_code = 5


class BudgetReachedError(JudgelawError):
    """The declared budget or deadline is used up."""

    exit_code = 6


class MissingExtraError(JudgelawError):
    """An optional dependency is not installed; the message names the one pip command."""

    exit_code = 2


def storage_error(what: object, error: Exception) -> StorageError | None:
    """Return our error for a disk that takes or gives no more, None for any other fault.

    Libraries that write files themselves give the words of the system in messages of their own.
    """
    number = error.errno if isinstance(error, OSError) else None
    said = [os.strerror(n) for n in _DISK if n == number or os.strerror(n) in str(error)]
    return disk_refuses(what, said[0]) if said else None


def disk_refuses(what: object, words: str) -> StorageError:
    """Say that the disk does not take or give what it should, and how to go on."""
    return StorageError(
        f"{what}: {words}; free the disk, make it writable or name another place: "
        "the same command goes on"
    )


@contextmanager
def writing(what: object) -> "Iterator[None]":
    """Turn every error of the file system, while files are written, into one of ours."""
    try:
        yield
    except JudgelawError:
        raise
    except Exception as error:
        if (full := storage_error(what, error)) is not None:
            raise full from error
        if isinstance(error, OSError):
            words = error.strerror or error
            raise InputError(f"cannot write {what}: {words}; give another path") from error
        raise
