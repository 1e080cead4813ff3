"""Where the logs of other tools are, and what they hold."""

from pathlib import Path

from judgelaw.tables.importers import Rules

FIXTURES = Path(__file__).parents[1] / "fixtures" / "imports"

FIRST_LINE = Rules(parser="first-line")

CELLS = [
    (item, prompt, order)
    for item in ("i1", "i2")
    for prompt in ("plain", "terse")
    for order in ("AB", "BA")
]
REPEATS = 3
