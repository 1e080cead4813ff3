"""Everything that can be derived from a run folder, derived again."""

from judgelaw.acquire.verify.frozen_checks import (
    Check as Check,
    ManifestChecks as ManifestChecks,
    Problems as Problems,
    check_controls as check_controls,
    check_record as check_record,
)
from judgelaw.acquire.verify.run_checks import (
    Verification as Verification,
    check_files as check_files,
    check_root as check_root,
    guarded as guarded,
    verify as verify,
)
