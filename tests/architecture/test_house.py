"""The house: rooms are entered by their doors, names tell files apart.

Each rule is a function of a source tree, so that a planted tree shows that it can fail.
"""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import judgelaw
from support.sources import nodes, tree

SRC = Path(judgelaw.__file__).parent

DEEP = {
    "judgelaw.replication.simulation_figure -> judgelaw.page.drawing": (
        "one theme for every figure; its short names (q, n, marks) belong to figures only"
    ),
    "judgelaw.replication.paper_figures -> judgelaw.page.drawing": "the same theme, as above",
}
"""Imports past a door, `importer -> imported`, each with its reason."""

COMMAND = "a command has a file of its own name, beside the room that does the work"
TWICE = dict.fromkeys(("run.py", "simulate.py", "view.py", "worker.py"), COMMAND)
"""File names that stand in two rooms, each with its reason."""


PROVIDERS = {"openai-chat", "openai-completions", "anthropic"}
NAMES_PROVIDERS = {
    "wire/providers/openai.py": "its own file",
    "wire/providers/anthropic.py": "its own file",
    "wire/providers/embedded_model.py": "the formats that its server speaks",
    "study/presets.py": "presets of the paper's judges",
    "cli/init.py": "the studies that it writes",
    "judges/embedded.py": "the format of its server",
    "runs/regrading.py": "where the graders of logs are served",
    "judges/transport_faults.py": "the exceptions that client libraries raise",
}
"""Files that name a provider, each with its reason: a new one is a file of `wire/providers/`."""


def _files(src):
    return sorted(src.rglob("*.py"))


def _module(src, path):
    parts = ("judgelaw", *path.relative_to(src).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def deep_imports(src):
    """Return imports of a file of another room that do not come through the room's door."""
    modules = {_module(src, path): path for path in _files(src)}
    doors = {name for name, path in modules.items() if path.name == "__init__.py"}
    found = set()
    for importer, path in modules.items():
        for node in nodes(path):
            for imported in _imported(node, modules):
                other = imported.split(".")[:2] != importer.split(".")[:2]
                if other and imported.count(".") > 1 and imported not in doors:
                    found.add(f"{importer} -> {imported}")
    return found


def _imported(node, modules):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name in modules]
    if isinstance(node, ast.ImportFrom) and node.module in modules:
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        offered = _bound(modules[node.module])
        hidden = [name for name in inner if name in modules and name.split(".")[-1] not in offered]
        return [node.module, *hidden]
    return []


@cache
def _bound(path):
    """Return the names that a file binds at its top level."""
    names = set()
    for node in _statements(path):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


def _statements(path):
    """Yield the statements of a file, with those that only the type checker reads."""
    for node in tree(path).body:
        yield from _typed(node) or [node]


def _typed(node):
    """Return what stands under `if TYPE_CHECKING`, and what a lazy door has in its place."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return [*node.body, *node.orelse]
    return None


def repeated_names(src):
    rooms = defaultdict(list)
    for path in _files(src):
        if path.name not in ("__init__.py", "__main__.py"):
            rooms[path.name].append(str(path.relative_to(src)))
    return {name: places for name, places in rooms.items() if len(places) > 1}


def hidden_files(src):
    """Return files that bear a name which their door offers: `room.name` would be two things."""
    return {
        str(path.relative_to(src))
        for path in _files(src)
        if path.name != "__init__.py"
        and path.parent != src
        and path.stem in _bound(path.parent / "__init__.py")
    }


def doors_with_code(src):
    """Return doors that do more than name what is behind them."""
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
    return {
        str(path.relative_to(src))
        for path in src.rglob("__init__.py")
        if path.parent != src
        for node in _statements(path)
        if not isinstance(node, allowed)
    }


def test_rooms_are_entered_by_their_doors():
    found = deep_imports(SRC)
    assert not found - set(DEEP)
    assert not set(DEEP) - found, "an exception that nobody needs any more"


def test_doors_only_name_what_is_behind_them():
    assert not doors_with_code(SRC)


def test_file_names_tell_files_apart():
    assert set(repeated_names(SRC)) == set(TWICE)


def test_no_file_is_hidden_by_what_its_door_offers():
    assert not hidden_files(SRC)


def naming_providers(src):
    return {
        str(path.relative_to(src))
        for path in _files(src)
        if "importers" not in path.parts
        for node in nodes(path)
        if isinstance(node, ast.Constant) and node.value in PROVIDERS
    }


def borrowed_private_names(src):
    """What files take from each other although its name says that it is nobody else's."""
    return {
        f"{path.relative_to(src)}: {taken.name}"
        for path in _files(src)
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("judgelaw")
        for taken in node.names
        if re.match("_[^_]", taken.name)
    }


def test_what_files_share_has_no_hiding_underscore():
    assert not borrowed_private_names(SRC)


def test_a_provider_is_named_in_its_own_file():
    assert naming_providers(SRC) == set(NAMES_PROVIDERS)


def test_the_walk_of_a_verdict_names_at_most_35_files_that_exist():
    page = (SRC.parents[1] / "docs/design/layers.md").read_text()
    named = re.findall(r"`([\w/]+\.py)`", page.split("## One verdict")[1])
    assert 20 < len(named) <= 35
    assert len(set(named)) == len(named)
    assert [name for name in named if not (SRC / name).is_file()] == []


def _planted(tmp_path, files):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("rule", "files", "found"),
    [
        (
            deep_imports,
            {
                "a/__init__.py": "from judgelaw.a.one import f\n",
                "a/one.py": "def f(): ...\n",
                "b/__init__.py": "",
                "b/by_door.py": "from judgelaw.a import f\n",
                "b/by_name.py": "def g():\n    from judgelaw.a.one import f\n",
                "b/by_module.py": "from judgelaw.a import one\n",
            },
            {"judgelaw.b.by_name -> judgelaw.a.one", "judgelaw.b.by_module -> judgelaw.a.one"},
        ),
        (
            naming_providers,
            {"a.py": 'x = "anthropic"\n', "b.py": 'x = "an anthropic one"\n'},
            {"a.py"},
        ),
        (
            borrowed_private_names,
            {
                "a.py": "from judgelaw.b import _f, g\n",
                "b.py": "from judgelaw import __version__\nfrom math import _f\n",
            },
            {"a.py: _f"},
        ),
        (
            repeated_names,
            {"a/run.py": "", "b/run.py": "", "b/walk.py": ""},
            {"run.py": ["a/run.py", "b/run.py"]},
        ),
        (
            hidden_files,
            {
                "a/__init__.py": "from judgelaw.a.walk import walk\n",
                "a/walk.py": "",
                "a/b.py": "",
                "c/__init__.py": "if TYPE_CHECKING:\n    from judgelaw.c.go import go\n",
                "c/go.py": "",
            },
            {"a/walk.py", "c/go.py"},
        ),
        (
            doors_with_code,
            {
                "a/__init__.py": "def f(): ...\n",
                "b/__init__.py": '"""B."""\n__all__ = []\n',
                "c/__init__.py": "if TYPE_CHECKING:\n    import a\nelse:\n    __getattr__ = a\n",
                "d/__init__.py": "if TYPE_CHECKING:\n    import a\nelse:\n    raise x\n",
            },
            {"a/__init__.py", "d/__init__.py"},
        ),
    ],
)
def test_each_rule_finds_what_breaks_it(tmp_path, rule, files, found):
    assert rule(_planted(tmp_path, files)) == found


def test_above_acquisition_a_run_has_one_opener():
    """Commands and answers read a ledger through the folder that opened it."""
    opening = {
        str(file.relative_to(SRC))
        for file in SRC.rglob("*.py")
        if "SqliteView(" in file.read_text()
        and file.parts[len(SRC.parts)] not in {"ledger", "acquire"}
    }
    assert opening == {"runs/folder.py"}
