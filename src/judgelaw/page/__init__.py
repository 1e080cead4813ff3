"""What people look at: the HTML page, its figures, tables for a paper."""

from typing import TYPE_CHECKING

from judgelaw.doors import lazy

if TYPE_CHECKING:
    from judgelaw.page.ci_summary import (
        gate_junit as gate_junit,
        gate_markdown as gate_markdown,
        gate_reasons as gate_reasons,
        gate_table as gate_table,
        levels as levels,
        limit_sentence as limit_sentence,
        limit_text as limit_text,
        target as target,
        write_gate_file as write_gate_file,
    )
    from judgelaw.page.drawing import start_drawing as start_drawing, stylesheet as stylesheet
    from judgelaw.page.export import (
        answer_html as answer_html,
        components_svg as components_svg,
        drawn as drawn,
        figures as figures,
        write_figures as write_figures,
    )
    from judgelaw.page.panel_sections import (
        panel_page as panel_page,
        sections_of_panel as sections_of_panel,
    )
    from judgelaw.page.sections.item_list import (
        COMPLETION_CUT as COMPLETION_CUT,
        Completions as Completions,
        Place as Place,
        Question as Question,
        Questions as Questions,
        opening as opening,
    )
    from judgelaw.page.sections.people import (
        validation_page as validation_page,
        watch_page as watch_page,
    )
    from judgelaw.page.subject import (
        OPENS_WITH as OPENS_WITH,
        PROMPTS_PART as PROMPTS_PART,
        TEXT as TEXT,
        Report as Report,
    )
    from judgelaw.page.table_forms import (
        Sheet as Sheet,
        escape as escape,
        sheet_of as sheet_of,
        to_csv as to_csv,
        to_json_text as to_json_text,
        to_latex as to_latex,
        write_sheets as write_sheets,
        write_tables as write_tables,
    )
    from judgelaw.page.whole_page import (
        build as build,
        compose as compose,
        figure_view as figure_view,
        page as page,
        sections_of as sections_of,
    )
else:
    __getattr__, __dir__ = lazy(__name__)
