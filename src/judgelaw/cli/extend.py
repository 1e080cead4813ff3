"""`judgelaw extend`: more repeats, or more prompts of a generator, in a run that exists."""

from pathlib import Path

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import echo, progress


@click.command(epilog=examples("judgelaw extend runs/quickstart --repeats 8"))
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--repeats", type=click.IntRange(min=1), help="Raise shallower layers to this depth.")
@click.option("--layer", metavar="NAME", help="Raise this layer only.")
@click.option(
    "--prompts", type=click.IntRange(min=1), help="Raise the number of a generator's prompts."
)
def command(run: Path, repeats: int | None, layer: str | None, prompts: int | None) -> None:
    """Add calls to a frozen run; nothing that is there changes.

    Existing calls keep their ids, seeds and places in the schedule, so lower depths stay what
    they were: prefixes. Run the study again to make the new calls. Prompts can be added to a
    generator only, since a census is what it is.
    """
    if repeats is None and prompts is None:
        raise click.UsageError("say what to add: --repeats N, or --prompts N for a generator")
    from judgelaw.cli.options import require_folder
    from judgelaw.study import extend, open_run

    require_folder(run)
    before = open_run(run).count
    after = extend(run, repeats, layer=layer, prompts=prompts, progress=progress).count
    if after == before:
        echo(f"{run}: it is that deep already, nothing is added to its {before:,} calls")
        return
    echo(f"{run}: {after - before:,} calls added to {before:,}; the run resumes with them")
