"""The control layer: hidden labels on byte-identical requests, so the prompt target is 0."""

from judgelaw.diagnose.finding import Finding
from judgelaw.diagnose.resampled import ALARM
from judgelaw.estimate import Design, decompose
from judgelaw.estimate.weights import Weights
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_variance import MIN_REPEATS
from judgelaw.uncertainty.calls import call_interval
from judgelaw.uncertainty.items import item_interval
from judgelaw.uncertainty.results import Interval


def control_finding(
    tensor: VerdictTensor,
    *,
    subject: str,
    design: Design = "census",
    order_weights: Weights = None,
) -> Finding:
    """Say whether labels that change nothing seem to matter.

    The corrected prompt component of a control layer estimates 0 under independent, exchangeable
    calls, while the plug-in stays above it by call noise alone. A corrected value that is not
    compatible with 0 accuses the pipeline, not the prompts.
    """
    found = _error(tensor, design, order_weights)
    if found is None or found.reason is not None:
        return Finding(
            name="control",
            verdict="unknown",
            headline="The control layer cannot be held against 0.",
            advice="It needs two labels, and calls or items that vary.",
            subject=subject,
        )
    plugin = float(
        decompose(tensor, design=design, order_weights=order_weights).plugin["prompt"].mean()
    )
    bad = not found.low <= 0 <= found.high
    return Finding(
        name="control",
        verdict="problem" if bad else "ok",
        headline=(
            f"Labels that change nothing have a prompt component of {found.estimate:.4f} "
            f"(99% interval [{found.low:.4f}, {found.high:.4f}]), where 0 is the truth; the "
            f"plug-in says {plugin:.4f}."
        ),
        advice=(
            "Calls of one payload are not exchangeable across labels: look for caching, batching "
            "or scheduling by label before believing any prompt component of this run."
            if bad
            else "Nothing to do: the correction removes what the plug-in adds."
        ),
        subject=subject,
        figures={
            "estimate": found.estimate,
            "plugin": plugin,
            "low": found.low,
            "high": found.high,
        },
    )


def _error(tensor: VerdictTensor, design: Design, order_weights: Weights) -> Interval | None:
    if len(tensor.prompts) == 1:
        return None
    if tensor.depth[0] >= MIN_REPEATS:
        return call_interval(tensor, level=ALARM, design=design, order_weights=order_weights)
    values = decompose(tensor, design=design, order_weights=order_weights).prompt
    return item_interval(values, strata=tensor.strata, level=ALARM)
