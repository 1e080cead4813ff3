"""Everything that can be derived from a run folder, derived again."""

from judgelaw.acquire.verify.frozen_checks import (
    Check,
    ManifestChecks,
    Problems,
    check_controls,
    check_record,
)
from judgelaw.acquire.verify.run_checks import Verification, check_files, guarded, verify

__all__ = [
    "Check",
    "ManifestChecks",
    "Problems",
    "Verification",
    "check_controls",
    "check_files",
    "check_record",
    "guarded",
    "verify",
]
