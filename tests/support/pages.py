"""What the pages of the documentation hold: blocks by language, and commands in their order."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
GENERATED = {"cli.md", "options.md", "study.md", "tables.md", "analysis.md", "report.md"}
PAGES = {
    str(page.relative_to(ROOT)): page
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    if page.name not in GENERATED and "_build" not in page.parts
}
_EXIT = re.compile(r"#\s*exit code (\d+)")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of code; an indented one has no language."""

    language: str
    text: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Command:
    """One line of a shell block, and the exit code that the page promises."""

    words: tuple[str, ...]
    exit_code: int
    line: int

    def __str__(self) -> str:
        return shlex.join(self.words)


def blocks(text: str) -> Iterator[Block]:
    """Yield every block of code, fenced or indented."""
    for token in MarkdownIt().parse(text):
        if token.type in {"fence", "code_block"}:
            language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
            yield Block(language=language, text=token.content, line=token.map[0] + 1)


def commands(text: str) -> Iterator[Command]:
    """Yield the commands of every shell block, in the order of the page."""
    for block in blocks(text):
        if block.language != "sh":
            continue
        for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
            if words := shlex.split(line, comments=True):
                promised = _EXIT.search(line)
                code = int(promised[1]) if promised else 0
                yield Command(words=tuple(words), exit_code=code, line=number)
