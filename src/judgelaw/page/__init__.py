"""What people look at: the HTML page, its figures, tables for a paper."""

from typing import TYPE_CHECKING

from judgelaw.doors import lazy

if TYPE_CHECKING:
    from judgelaw.page.against_people import (
        people_section as people_section,
        validation_page as validation_page,
        watch_page as watch_page,
    )
    from judgelaw.page.ci_summary import (
        gate_junit as gate_junit,
        gate_markdown as gate_markdown,
        gate_reasons as gate_reasons,
        levels as levels,
        limit_bounds as limit_bounds,
        limit_estimate as limit_estimate,
        limit_sentence as limit_sentence,
        limit_text as limit_text,
        target as target,
        write_gate_file as write_gate_file,
    )
    from judgelaw.page.depth import looks_section as looks_section
    from judgelaw.page.document import Section as Section
    from judgelaw.page.drawing import start_drawing as start_drawing, stylesheet as stylesheet
    from judgelaw.page.explorer import (
        COMPLETION_CUT as COMPLETION_CUT,
        OPENS_WITH as OPENS_WITH,
        PROMPTS_PART as PROMPTS_PART,
        Completions as Completions,
        Place as Place,
        Question as Question,
        Questions as Questions,
        opening as opening,
    )
    from judgelaw.page.export import (
        answer_html as answer_html,
        components_svg as components_svg,
        drawn as drawn,
        figures as figures,
        write_figures as write_figures,
    )
    from judgelaw.page.table_forms import (
        escape as escape,
        to_csv as to_csv,
        to_json_text as to_json_text,
        to_latex as to_latex,
        write_tables as write_tables,
    )
    from judgelaw.page.whole_page import (
        SectionMaker as SectionMaker,
        build as build,
        compose as compose,
        figure_view as figure_view,
        page as page,
    )
    from judgelaw.page.wordings import rewordings_section as rewordings_section
else:
    __getattr__, __dir__ = lazy(__name__)
