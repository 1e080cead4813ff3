"""From the path of a run or a table to its answer: what commands, notebooks and tests share."""

from typing import TYPE_CHECKING

from judgelaw.doors import lazy

if TYPE_CHECKING:
    from judgelaw.runs.answers import (
        REPORT,
        analyze_source,
        check_source,
        gate,
        report_page,
        write_page,
    )
    from judgelaw.runs.auditing import (
        ANALYSIS,
        Audited,
        Shown,
        acquire_study,
        analyze_shown,
        audit_study,
        hand_over_study,
        page_shown,
    )
    from judgelaw.runs.package_checks import is_package, verify_foreign, verify_package
    from judgelaw.runs.packaging import Contents, Package, release
    from judgelaw.runs.publication import PaperFolder, write_paper
    from judgelaw.runs.run import Run, RunStatus
    from judgelaw.runs.source import Reading, Source, read_source
else:
    __getattr__ = lazy(
        __name__,
        {
            "answers": (
                "REPORT",
                "analyze_source",
                "check_source",
                "gate",
                "report_page",
                "write_page",
            ),
            "auditing": (
                "ANALYSIS",
                "Audited",
                "Shown",
                "acquire_study",
                "analyze_shown",
                "audit_study",
                "hand_over_study",
                "page_shown",
            ),
            "publication": (
                "PaperFolder",
                "write_paper",
            ),
            "package_checks": (
                "is_package",
                "verify_foreign",
                "verify_package",
            ),
            "packaging": (
                "Contents",
                "Package",
                "release",
            ),
            "run": (
                "Run",
                "RunStatus",
            ),
            "source": (
                "Reading",
                "Source",
                "read_source",
            ),
        },
    )

__all__ = [
    "ANALYSIS",
    "REPORT",
    "Audited",
    "Contents",
    "Package",
    "PaperFolder",
    "Reading",
    "Run",
    "RunStatus",
    "Shown",
    "Source",
    "acquire_study",
    "analyze_shown",
    "analyze_source",
    "audit_study",
    "check_source",
    "gate",
    "hand_over_study",
    "is_package",
    "page_shown",
    "read_source",
    "release",
    "report_page",
    "verify_foreign",
    "verify_package",
    "write_page",
    "write_paper",
]
