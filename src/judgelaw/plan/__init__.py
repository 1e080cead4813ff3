"""How many calls a wanted precision costs, before a cent is spent."""

from judgelaw.plan.assurance import Outlook, Promise, Sizes, outlook_from_law, outlook_from_pilot
from judgelaw.plan.budget import Price, Workload, workload
from judgelaw.plan.precision import Forecast, Precision, forecast_from_laws, forecast_from_pilot
from judgelaw.plan.sequential import Look, SequentialPlan, look

__all__ = [
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
