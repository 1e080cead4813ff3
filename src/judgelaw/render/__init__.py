"""From a frozen cell to request text, and from a completion back to a verdict."""

from judgelaw.render.completion import Completion, Verdict

__all__ = ["Completion", "Verdict"]
