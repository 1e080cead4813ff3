"""`judgelaw init`: a commented study to start from."""

import re
import sys
from pathlib import Path

import click

from judgelaw.cli._help import examples
from judgelaw.cli._output import echo
from judgelaw.cli._study_text import PROVIDERS, items_text, study_text
from judgelaw.errors import InputError

_SEED = 20261115


@click.command(epilog=examples("judgelaw init --provider vllm --model Qwen/Qwen2.5-7B-Instruct"))
@click.option("--provider", type=click.Choice(list(PROVIDERS)), help="Who answers.")
@click.option("--model", metavar="NAME", help="The model to ask for.")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("study.yaml"),
    show_default=True,
    help="The study file; existing files are never overwritten.",
)
def command(provider: str | None, model: str | None, out: Path) -> None:
    """Write a commented study, and two items to replace where there are none.

    On a terminal it asks for what is not given.
    """
    provider, model = _asked(provider, model)
    if out.exists():
        raise InputError(f"{out} exists; give another file with --out, or remove it")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", out.absolute().parent.name).strip("-._") or "study"
    items = out.parent / "items.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        study_text(provider, model, file=str(out), name=name[:100], seed=_SEED), encoding="utf-8"
    )
    echo(f"wrote {out}")
    if not items.exists():
        items.write_text(items_text(), encoding="utf-8")
        echo(f"wrote {items}: two examples, put your own items there")
    echo(f"next: judgelaw check {out}", err=True)


def _asked(provider: str | None, model: str | None) -> tuple[str, str]:
    """Ask on a terminal, and take the usual where nobody can answer."""
    terminal = sys.stdin.isatty()
    if provider is None:
        if not terminal:
            raise click.UsageError(f"--provider is needed: one of {', '.join(PROVIDERS)}")
        provider = click.prompt("Who answers", type=click.Choice(list(PROVIDERS)), default="vllm")
    if model is None:
        usual = PROVIDERS[provider].model
        model = click.prompt("Model", default=usual) if terminal else usual
    if not model.isprintable() or not model.strip():
        raise InputError(f"model {model!r}: must be one printable line; name the model")
    return provider, model
