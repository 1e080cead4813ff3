"""Everything that can be derived from a run folder, derived again."""

from judgelaw.acquire.verify.frozen_checks import Check
from judgelaw.acquire.verify.run_checks import Verification, verify

__all__ = [
    "Check",
    "Verification",
    "verify",
]
