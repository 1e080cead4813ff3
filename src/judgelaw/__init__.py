"""judgelaw: what part of an LLM judge's disagreement is dice, prompt, answer order or interaction.

    import judgelaw as jl

    analysis = jl.analyze("calls.csv.gz")
    jl.gate("calls.csv.gz", {"prompt": 0.02}).verdict

`__init__.pyi` lists the public names, one line each, for type checkers and for this module. A name
loads when it is first used, so that `import judgelaw` and `judgelaw --help` are immediate.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from judgelaw import doors

__version__ = "0.1.0"


@cache
def _names() -> dict[str, str]:
    """Return the public names with their homes."""
    return doors.from_stub(Path(__file__).with_suffix(".pyi"))


def __getattr__(name: str) -> Any:
    """Import a public name, or one of the first release, when it is first asked for."""
    if name == "__all__":
        return sorted(_names())
    if name.startswith("_"):
        raise AttributeError(f"module 'judgelaw' has no attribute {name!r}")
    if name in _names():
        value = doors.opened(_names()[name], name)
        globals()[name] = value
        return value
    return getattr(import_module("judgelaw.first_release"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return [*sorted(_names()), "__version__"]
