"""Known-law studies of the estimators, and the published figures held against them."""

from judgelaw.replication.corpus import Corpus, comparable_corpus, find_corpus
from judgelaw.replication.custom_study import CustomRow, CustomStudy, simulate_custom
from judgelaw.replication.layouts import Layout, write_layouts
from judgelaw.replication.panel_layouts import make_layouts
from judgelaw.replication.panel_study import PanelLaw, PanelRow, PanelStudy, simulate_panel
from judgelaw.replication.paper_check import (
    check_identities,
    compare_decision,
    compare_panel,
    compare_point,
)
from judgelaw.replication.paper_figures import draw_figures
from judgelaw.replication.paper_parts import PaperData, gather
from judgelaw.replication.paper_protocol import protocol_files
from judgelaw.replication.paper_tables import recompute
from judgelaw.replication.point_study import (
    DecisionRow,
    DecisionStudy,
    ExactErrors,
    PointRow,
    PointStudy,
    PointSummary,
    exact_errors,
    simulate_decision,
    simulate_point,
)
from judgelaw.replication.published_numbers import (
    Finding,
    PublishedTable,
    Span,
    published,
    stated,
    tally,
)
from judgelaw.replication.sampled_study import (
    SAMPLED_PROMPTS,
    SampledRow,
    SampledStudy,
    simulate_sampled,
)
from judgelaw.replication.simulation_figure import Mark, figure, figure_marks
from judgelaw.uncertainty import Resampling

__all__ = [
    "SAMPLED_PROMPTS",
    "Corpus",
    "CustomRow",
    "CustomStudy",
    "DecisionRow",
    "DecisionStudy",
    "ExactErrors",
    "Finding",
    "Layout",
    "Mark",
    "PanelLaw",
    "PanelRow",
    "PanelStudy",
    "PaperData",
    "PointRow",
    "PointStudy",
    "PointSummary",
    "PublishedTable",
    "Resampling",
    "SampledRow",
    "SampledStudy",
    "Span",
    "check_identities",
    "comparable_corpus",
    "compare_decision",
    "compare_panel",
    "compare_point",
    "draw_figures",
    "exact_errors",
    "figure",
    "figure_marks",
    "find_corpus",
    "gather",
    "make_layouts",
    "protocol_files",
    "published",
    "recompute",
    "simulate_custom",
    "simulate_decision",
    "simulate_panel",
    "simulate_point",
    "simulate_sampled",
    "stated",
    "tally",
    "write_layouts",
]
