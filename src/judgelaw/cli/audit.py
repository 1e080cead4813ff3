"""`judgelaw audit`: from a study to its report."""

from pathlib import Path

import click

from judgelaw.cli.options import examples, on_terminal
from judgelaw.cli.terminal import echo, write_json
from judgelaw.runs import REPORT


@click.command(
    epilog=examples(
        "judgelaw audit study.yaml",
        "judgelaw audit study.yaml --out runs/first",
        "judgelaw -q audit study.yaml --json - | jq .judges",
    )
)
@click.argument("study", metavar="STUDY", type=click.Path(path_type=Path))
@click.option(
    "--out",
    metavar="RUN",
    type=click.Path(file_okay=False, path_type=Path),
    help="The run folder; by default runs/NAME beside the study.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(study: Path, out: Path | None, json_file: str | None) -> None:
    """Freeze a study, ask every call, analyse the verdicts and write the report.

    Interrupt it at any time: the same command goes on where it stopped, and takes seconds when
    nothing is left to ask.
    """
    from judgelaw.cli.analyze import show
    from judgelaw.runs import audit_study

    audited = audit_study(study, out, shown=on_terminal())
    if json_file is not None:
        write_json(audited.analysis.to_json(), json_file)
    if json_file != "-":
        show(audited.analysis)
        echo(f"report: {audited.run / REPORT}")
