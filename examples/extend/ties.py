"""A diagnostic that counts a fact: how often the judge calls it a tie."""

from judgelaw.diagnose.finding import Finding
from judgelaw.diagnose.registry import Diagnostic
from judgelaw.tensor import VerdictTensor

_MANY = 0.5


def ties_finding(tensor: VerdictTensor, *, subject: str) -> Finding:
    """Say whether most verdicts are ties, which leaves little to disagree on."""
    if "tie" not in tensor.verdicts:
        return Finding(
            name="ties",
            verdict="unknown",
            headline="These verdicts know no tie.",
            advice="Nothing to do.",
            subject=subject,
        )
    share = float(tensor.counts[..., tensor.verdicts.index("tie")].sum() / tensor.counts.sum())
    many = share > _MANY
    return Finding(
        name="ties",
        verdict="notice" if many else "ok",
        headline=f"{share:.0%} of the calls are ties.",
        advice="Ask for a choice, or add items with a clear winner." if many else "Nothing to do.",
        subject=subject,
        figures={"share": share},
    )


DIAGNOSTICS = (
    Diagnostic(
        name="ties", place=85, find=lambda of, _: [ties_finding(of.tensor, subject=of.name)]
    ),
)
