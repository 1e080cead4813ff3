"""Known-law worlds: judges whose laws, and so whose components, are known exactly."""

from judgelaw.worlds.law_rules import spaced_score as spaced_score
from judgelaw.worlds.prompt_generator import PromptGenerator as PromptGenerator
from judgelaw.worlds.world import (
    PAPER_BASE as PAPER_BASE,
    SPEC_KEYS as SPEC_KEYS,
    Components as Components,
    World as World,
    components_of as components_of,
    draw_ranked as draw_ranked,
)
