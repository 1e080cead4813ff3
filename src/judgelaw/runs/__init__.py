"""From the path of a run or a table to its answer: what commands, notebooks and tests share."""

from typing import TYPE_CHECKING

from judgelaw.doors import lazy

if TYPE_CHECKING:
    from judgelaw.runs.answers import (
        REPORT,
        analyze_source,
        check_source,
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
    from judgelaw.runs.from_python import audit, audit_async
    from judgelaw.runs.front import (
        analyze,
        check_target,
        compare,
        gate,
        list_sums,
        report,
        report_target,
    )
    from judgelaw.runs.planning import Plan, duration, plan
    from judgelaw.runs.run import Run, RunStatus
    from judgelaw.runs.source import Reading, Source, Which, compared, read_source, source_of
else:
    __getattr__ = lazy(
        __name__,
        {
            "answers": ("REPORT", "analyze_source", "check_source", "report_page", "write_page"),
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
            "from_python": ("audit", "audit_async"),
            "front": (
                "analyze",
                "check_target",
                "compare",
                "gate",
                "list_sums",
                "report",
                "report_target",
            ),
            "planning": ("Plan", "duration", "plan"),
            "run": ("Run", "RunStatus"),
            "source": ("Reading", "Source", "Which", "compared", "read_source", "source_of"),
        },
    )

__all__ = [
    "ANALYSIS",
    "REPORT",
    "Audited",
    "Plan",
    "Reading",
    "Run",
    "RunStatus",
    "Shown",
    "Source",
    "Which",
    "acquire_study",
    "analyze",
    "analyze_shown",
    "analyze_source",
    "audit",
    "audit_async",
    "audit_study",
    "check_source",
    "check_target",
    "compare",
    "compared",
    "duration",
    "gate",
    "hand_over_study",
    "list_sums",
    "page_shown",
    "plan",
    "read_source",
    "report",
    "report_page",
    "report_target",
    "source_of",
    "write_page",
]
