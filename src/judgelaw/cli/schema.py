"""`judgelaw schema`: the JSON Schema of study files."""

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import write_json


@click.command(epilog=examples("judgelaw schema -o study.schema.json"))
@click.option("-o", "--out", default="-", metavar="FILE", help="Write to a file, not to stdout.")
def command(out: str) -> None:
    """Print the JSON Schema of a study file, for editors and other programs.

    With `# yaml-language-server: $schema=study.schema.json` as the first line of a study, an
    editor completes its keys and marks its mistakes.
    """
    from judgelaw.study import study_schema

    write_json(study_schema(), out)
