"""Everything that can be derived from a run folder, derived again."""

from judgelaw.acquire.verify.frozen_checks import Check as Check
from judgelaw.acquire.verify.run_checks import Verification as Verification, verify as verify
