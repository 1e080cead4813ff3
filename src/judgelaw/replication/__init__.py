"""Known-law studies of the estimators, and the published figures held against them."""

from judgelaw.replication.corpus import (
    Corpus as Corpus,
    comparable_corpus as comparable_corpus,
    find_corpus as find_corpus,
)
from judgelaw.replication.fresh_calls import compare_fresh as compare_fresh
from judgelaw.replication.layouts import Layout as Layout, write_layouts as write_layouts
from judgelaw.replication.open_studies import (
    SAMPLED_PROMPTS as SAMPLED_PROMPTS,
    CustomRow as CustomRow,
    CustomStudy as CustomStudy,
    SampledRow as SampledRow,
    SampledStudy as SampledStudy,
    simulate_custom as simulate_custom,
    simulate_sampled as simulate_sampled,
)
from judgelaw.replication.panel_layouts import make_layouts as make_layouts
from judgelaw.replication.panel_study import (
    PanelLaw as PanelLaw,
    PanelRow as PanelRow,
    PanelStudy as PanelStudy,
    simulate_panel as simulate_panel,
)
from judgelaw.replication.paper_check import (
    check_identities as check_identities,
    compare_decision as compare_decision,
    compare_panel as compare_panel,
    compare_point as compare_point,
)
from judgelaw.replication.paper_comparison import (
    COMPARISON_COLUMNS as COMPARISON_COLUMNS,
    by_table as by_table,
    comparison_line as comparison_line,
    comparison_page as comparison_page,
    count as count,
    sentence as sentence,
)
from judgelaw.replication.paper_figures import draw_figures as draw_figures
from judgelaw.replication.paper_parts import PaperData as PaperData, gather as gather
from judgelaw.replication.paper_protocol import protocol_files as protocol_files
from judgelaw.replication.paper_tables import recompute as recompute
from judgelaw.replication.point_study import (
    DecisionRow as DecisionRow,
    DecisionStudy as DecisionStudy,
    ExactErrors as ExactErrors,
    PointRow as PointRow,
    PointStudy as PointStudy,
    PointSummary as PointSummary,
    exact_errors as exact_errors,
    simulate_decision as simulate_decision,
    simulate_point as simulate_point,
)
from judgelaw.replication.published_numbers import (
    Finding as Finding,
    PublishedTable as PublishedTable,
    Span as Span,
    published as published,
    stated as stated,
)
from judgelaw.replication.simulated_layouts import (
    decision_layout as decision_layout,
    panel_layout as panel_layout,
    point_layout as point_layout,
)
from judgelaw.replication.simulation_figure import (
    Mark as Mark,
    figure as figure,
    figure_marks as figure_marks,
)
from judgelaw.uncertainty import Resampling as Resampling
