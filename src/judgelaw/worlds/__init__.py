"""Known-law worlds: judges whose laws, and so whose components, are known exactly."""

from judgelaw.worlds._components import Components, components_of
from judgelaw.worlds._draws import draw_ranked
from judgelaw.worlds._generator import PromptGenerator
from judgelaw.worlds._rules import spaced_score
from judgelaw.worlds._spec import SPEC_KEYS
from judgelaw.worlds._world import PAPER_BASE, World

__all__ = [
    "PAPER_BASE",
    "SPEC_KEYS",
    "Components",
    "PromptGenerator",
    "World",
    "components_of",
    "draw_ranked",
    "spaced_score",
]
