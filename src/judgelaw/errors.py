"""Every exception that judgelaw raises on purpose.

    JudgelawError                      70  a defect of ours unless a subclass says otherwise
    ├── InputError (ValueError)         2  what was handed in breaks a rule
    │   ├── TableError                  2  a calls table, with file and line
    │   │   ├── DuplicateCallsError     2  the same call twice
    │   │   └── IncompleteDesignError   2  cells without the calls that the estimate needs
    │   └── StudyError                  2  a study file, with file, line and key
    ├── NotIdentifiedError              2  the design cannot answer the question asked
    ├── RunError                        3  a run that cannot go on as asked
    │   ├── IncompleteRunError          3  calls are still open; the same command resumes
    │   ├── RunLockedError              3  another process holds the run
    │   ├── LeaseLostError              3  a worker was away too long; others have its calls
    │   └── StudyChangedError           2  the study differs from the one that was frozen
    ├── IntegrityError                  4  what is stored contradicts what was frozen
    ├── ProviderRefusedError            5  a provider refused the key, the model or the request
    ├── BudgetReachedError              6  the declared budget or deadline is used up
    └── MissingExtraError               2  an optional dependency is not installed

The number is the exit code of the command line. A message gives the value, the rule and the remedy.
"""

from typing import ClassVar


class JudgelawError(Exception):
    """The root: `except JudgelawError` catches everything that judgelaw raises on purpose."""

    exit_code: ClassVar[int] = 70


class InputError(JudgelawError, ValueError):
    """What was handed in breaks a rule."""

    exit_code = 2


class TableError(InputError):
    """A calls table breaks the contract."""


class DuplicateCallsError(TableError):
    """A calls table holds the same logical call more than once."""


class IncompleteDesignError(TableError):
    """Cells lack the calls that the estimate needs."""


class StudyError(InputError):
    """A study file breaks a rule; the message starts with `file:line: key`."""


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
