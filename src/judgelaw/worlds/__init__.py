"""Known-law worlds: judges whose laws, and so whose components, are known exactly."""

from judgelaw.worlds.law_rules import spaced_score
from judgelaw.worlds.prompt_generator import PromptGenerator
from judgelaw.worlds.world import (
    PAPER_BASE,
    SPEC_KEYS,
    Components,
    World,
    components_of,
    draw_ranked,
)

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
