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
        run_folder,
    )
    from judgelaw.runs.overview import Glance, Overview
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
                "run_folder",
            ),
            "overview": (
                "Glance",
                "Overview",
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
    "Glance",
    "Overview",
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
    "page_shown",
    "read_source",
    "report_page",
    "run_folder",
    "write_page",
]
