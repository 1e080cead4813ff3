"""What to do next: how many calls a wanted precision costs, and when to stop looking."""

from judgelaw.decide.assurance import (
    MOST_ITEMS,
    MOST_REPEATS,
    Outlook,
    Promise,
    Sizes,
    outlook_from_law,
    outlook_from_pilot,
)
from judgelaw.decide.forecast import (
    Forecast,
    Precision,
    Price,
    Workload,
    forecast_from_laws,
    forecast_from_pilot,
    workload,
)
from judgelaw.decide.looks import Look, SequentialPlan, look

__all__ = [
    "MOST_ITEMS",
    "MOST_REPEATS",
    "Forecast",
    "Look",
    "Outlook",
    "Precision",
    "Price",
    "Promise",
    "SequentialPlan",
    "Sizes",
    "Workload",
    "forecast_from_laws",
    "forecast_from_pilot",
    "look",
    "outlook_from_law",
    "outlook_from_pilot",
    "workload",
]
