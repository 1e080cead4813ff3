"""Reference pages that are read off the program itself, so that they cannot go stale."""

import json
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from judgelaw.cli._main import COMMANDS, cli


def write(folder: Path) -> None:
    """Write `cli.md` and `study.md` into a folder; unchanged pages keep their time stamps."""
    for name, text in (("cli.md", commands_page()), ("study.md", study_page())):
        page = folder / name
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def commands_page() -> str:
    """Return the help of every command."""
    parts = ["# Command line\n", "The output of `--help`, command by command.\n"]
    parts.append(_help([]))
    for name in COMMANDS:
        parts += [f"## judgelaw {name}\n", _help([name])]
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            for sub in command.list_commands(click.Context(command)):
                parts += [f"### judgelaw {name} {sub}\n", _help([name, sub])]
    return "\n".join(parts)


def _help(command: list[str]) -> str:
    shown = CliRunner().invoke(cli, [*command, "--help"], prog_name="judgelaw")
    return f"```text\n{shown.output.rstrip()}\n```\n"


def study_page() -> str:
    """Return every field of the study file, from its JSON Schema."""
    schema = json.loads(CliRunner().invoke(cli, ["schema"], prog_name="judgelaw").output)
    parts = [
        "# Study file\n",
        "Every field, read off `judgelaw schema`.\n",
        _fields("study", schema),
    ]
    for name, model in schema.get("$defs", {}).items():
        if model.get("properties"):
            parts.append(_fields(name, model))
    return "\n".join(parts)


def _fields(name: str, model: dict[str, Any]) -> str:
    required = set(model.get("required", ()))
    about = str(model.get("description", "")).split("\n\n")[0].replace("\n", " ")
    rows = [
        f"| `{field}` | {_type(spec)} | {_default(field, spec, required)} |"
        for field, spec in model["properties"].items()
    ]
    head = [f"## {name}\n", f"{about}\n", "| field | type | default |", "|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def _type(spec: dict[str, Any]) -> str:
    if "$ref" in spec:
        return f"`{spec['$ref'].rsplit('/', 1)[-1]}`"
    for many in ("anyOf", "oneOf"):
        if many in spec:
            return " or ".join(_type(each) for each in spec[many] if each.get("type") != "null")
    if "const" in spec:
        return f"`{spec['const']}`"
    if "enum" in spec:
        return ", ".join(f"`{value}`" for value in spec["enum"])
    if spec.get("type") == "array":
        return f"list of {_type(spec.get('items', {}))}"
    return str(spec.get("type", "any"))


def _default(field: str, spec: dict[str, Any], required: set[str]) -> str:
    if field in required:
        return "required"
    default = spec.get("default")
    return "" if default in (None, [], {}) else f"`{json.dumps(default)}`"
