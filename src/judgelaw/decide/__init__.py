"""What to do next: how many calls a wanted precision costs, and when to stop looking."""

from judgelaw.decide.assurance import (
    MOST_ITEMS as MOST_ITEMS,
    MOST_REPEATS as MOST_REPEATS,
    Outlook as Outlook,
    Promise as Promise,
    Sizes as Sizes,
    outlook_from_law as outlook_from_law,
    outlook_from_pilot as outlook_from_pilot,
)
from judgelaw.decide.forecast import (
    Forecast as Forecast,
    Precision as Precision,
    Price as Price,
    Workload as Workload,
    forecast_from_laws as forecast_from_laws,
    forecast_from_pilot as forecast_from_pilot,
    workload as workload,
)
from judgelaw.decide.looks import Look as Look, SequentialPlan as SequentialPlan, look as look
