"""A judge against people, and a judge over dates: statistics of labels and waves, without I/O."""

from typing import TYPE_CHECKING

from judgelaw.doors import lazy

if TYPE_CHECKING:
    from judgelaw.labels.against import Against
    from judgelaw.labels.opinions import Opinions, Row, gather_opinions
    from judgelaw.labels.pass_rate import How
    from judgelaw.labels.proportions import Estimate
    from judgelaw.labels.validation import Validation, validate_opinions
    from judgelaw.labels.verdict_words import percent
    from judgelaw.labels.watching import Watch, watch_waves
    from judgelaw.labels.waves import DatedCall, check_dates, in_words, lay_out_waves, out_of_order
else:
    __getattr__ = lazy(
        __name__,
        {
            "against": ("Against",),
            "opinions": ("Opinions", "Row", "gather_opinions"),
            "pass_rate": ("How",),
            "proportions": ("Estimate",),
            "validation": ("Validation", "validate_opinions"),
            "verdict_words": ("percent",),
            "watching": ("Watch", "watch_waves"),
            "waves": ("DatedCall", "check_dates", "in_words", "lay_out_waves", "out_of_order"),
        },
    )

__all__ = [
    "Against",
    "DatedCall",
    "Estimate",
    "How",
    "Opinions",
    "Row",
    "Validation",
    "Watch",
    "check_dates",
    "gather_opinions",
    "in_words",
    "lay_out_waves",
    "out_of_order",
    "percent",
    "validate_opinions",
    "watch_waves",
]
