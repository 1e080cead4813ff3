"""One way to the terminal: nothing is printed that did not pass `words.visible`."""

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

import judgelaw
from support.sources import nodes

SOURCE = Path(judgelaw.__file__).parent
SINK = Path("cli/terminal.py")
"""The one module that prints; each of its own calls must show `visible` in its argument."""
PRINTS = {"print", "echo", "secho", "write_line", "warn"}
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
SAFE = {"visible", "visible_json", "dumps"}
OURS = {"Console", "Progress"}


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def is_print(call: ast.Call, path: Path) -> bool:
    """Whether a call reaches a terminal by itself, and not through the sink."""
    name = name_of(call.func)
    if isinstance(call.func, ast.Name) and name == "echo":
        return False  # the sink's own function, imported
    if name == "write" and isinstance(call.func, ast.Attribute):
        return name_of(call.func.value) in STREAMS
    if name == "print" and isinstance(call.func, ast.Attribute):
        return path == SINK and bool(call.args) and not isinstance(call.args[0], ast.Name)
    return name in PRINTS


def is_safe(call: ast.Call) -> bool:
    return any(
        isinstance(part, ast.Call) and name_of(part.func) in SAFE
        for argument in call.args
        for part in ast.walk(argument)
    )


def unsafe_prints(parts: Iterable[ast.AST], path: Path) -> list[str]:
    """Name every print whose text was not made visible, and every console outside the sink."""
    found = []
    for node in parts:
        if not isinstance(node, ast.Call):
            continue
        if is_print(node, path) and not is_safe(node):
            found.append(f"{path}:{node.lineno}: {ast.unparse(node)[:60]}")
        if name_of(node.func) in OURS and path not in (SINK, Path("acquire/progress.py")):
            found.append(f"{path}:{node.lineno}: a console of its own")
    return found


ALLOWED = {
    # A sentence of our own, about the Python that runs.
    "systems.py: warnings.warn(message, stacklevel=3)",
    # Written by llama.cpp's loader into the child's log, which nobody but its parent reads.
    "judges/embedded_child.py: sys.stderr.write(f'{error}\\n')",
}


def test_nothing_reaches_a_terminal_but_through_the_one_function():
    found = [
        problem
        for path in sorted(SOURCE.rglob("*.py"))
        for problem in unsafe_prints(nodes(path), path.relative_to(SOURCE))
    ]
    kept = [p for p in found if not any(p.endswith(a.partition(": ")[2]) for a in ALLOWED)]
    assert kept == []


@pytest.mark.parametrize(
    ("line", "caught"),
    [
        ("click.echo(reply.finish_reason)", True),
        ("click.secho('x' + said)", True),
        ("print(said)", True),
        ("sys.stderr.write(said)", True),
        ("Console().print(said)", True),
        ("warnings.warn(said)", True),
        ("click.echo(visible(said))", False),
        ("print(json.dumps(said), file=answers)", False),
        ("echo(said)", False),
        ("file.write(said)", False),
    ],
)
def test_a_print_without_it_is_found(line, caught):
    assert bool(unsafe_prints(ast.walk(ast.parse(line)), Path("cli/some.py"))) is caught


def test_the_sink_makes_everything_visible(capsys):
    from judgelaw.cli.terminal import echo, say, show_table, write_json

    hostile = "a\x1b[2Jb\u202ec\x9b31md\re\x07"
    echo(hostile)
    say(hostile, err=True)
    show_table((hostile, "n"), [(hostile, "1")], title=hostile)
    write_json({hostile: hostile}, "-")
    said = capsys.readouterr()
    for character in "\x1b\u202e\x9b\r\x07":
        assert character not in said.out + said.err
    assert "⟨U+001B⟩[2J" in said.out
    assert '"a\\u001b[2Jb\\u202ec' in said.out
