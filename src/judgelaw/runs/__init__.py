"""From the path of a run or a table to its answer: what commands, notebooks and tests share."""

from typing import TYPE_CHECKING

from judgelaw.doors import lazy

if TYPE_CHECKING:
    from judgelaw.runs.answers import (
        REPORT as REPORT,
        analyze_source as analyze_source,
        baseline_of as baseline_of,
        check_source as check_source,
        report_of as report_of,
        report_page as report_page,
        seed_of as seed_of,
        write_page as write_page,
        write_report as write_report,
    )
    from judgelaw.runs.auditing import (
        ANALYSIS as ANALYSIS,
        Audited as Audited,
        Shown as Shown,
        acquire_study as acquire_study,
        audit_study as audit_study,
        hand_over_study as hand_over_study,
        preview_study as preview_study,
        run_folder as run_folder,
    )
    from judgelaw.runs.decisions import (
        advise as advise,
        advise_source as advise_source,
        apart_by as apart_by,
        begin_advice as begin_advice,
        score as score,
        score_by as score_by,
        score_source as score_source,
        target_of as target_of,
        with_item_cost as with_item_cost,
    )
    from judgelaw.runs.folder import RunFolder as RunFolder
    from judgelaw.runs.from_python import audit as audit, audit_async as audit_async
    from judgelaw.runs.front import (
        analyze as analyze,
        check_target as check_target,
        compare as compare,
        gate as gate,
        report as report,
        report_target as report_target,
    )
    from judgelaw.runs.labelled import validate as validate
    from judgelaw.runs.overview import Glance as Glance, Overview as Overview
    from judgelaw.runs.package_checks import (
        package_folder as package_folder,
        verify_foreign as verify_foreign,
        verify_package as verify_package,
    )
    from judgelaw.runs.packaging import (
        Contents as Contents,
        Package as Package,
        is_package as is_package,
        release as release,
    )
    from judgelaw.runs.panelled import (
        groups_of as groups_of,
        panel as panel,
        panel_of_sources as panel_of_sources,
    )
    from judgelaw.runs.planning import (
        Plan as Plan,
        dollars as dollars,
        duration as duration,
        plan as plan,
    )
    from judgelaw.runs.publication import PaperFolder as PaperFolder, write_paper as write_paper
    from judgelaw.runs.reading_options import (
        AtLeast as AtLeast,
        Criterion as Criterion,
        Draws as Draws,
        Judge as Judge,
        Permutations as Permutations,
        Reading as Reading,
        Seed as Seed,
        Selection as Selection,
        Soft as Soft,
        for_baseline as for_baseline,
        names_of as names_of,
    )
    from judgelaw.runs.recomputing import recompute_results as recompute_results
    from judgelaw.runs.regrading import (
        Regraded as Regraded,
        regrade as regrade,
        regrade_study as regrade_study,
    )
    from judgelaw.runs.rewording import Rewording as Rewording, reword_study as reword_study
    from judgelaw.runs.run import Run as Run, RunStatus as RunStatus
    from judgelaw.runs.several_sources import compared as compared
    from judgelaw.runs.source import (
        Source as Source,
        read_source as read_source,
    )
    from judgelaw.runs.stopping import (
        LOOK_COLUMNS as LOOK_COLUMNS,
        differing_looks as differing_looks,
        look_rows as look_rows,
        refuse_out_of_reach as refuse_out_of_reach,
        rule_of as rule_of,
        take_looks as take_looks,
    )
    from judgelaw.runs.watched import watch as watch
else:
    __getattr__, __dir__ = lazy(__name__)
