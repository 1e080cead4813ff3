"""Source files as syntax trees, each of them parsed and walked once for all rules."""

import ast
from functools import cache
from pathlib import Path


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of a file."""
    return tuple(ast.walk(tree(path)))


def forget() -> None:
    """Let go of all trees: a worker that keeps a million objects collects garbage slowly."""
    tree.cache_clear()
    nodes.cache_clear()
