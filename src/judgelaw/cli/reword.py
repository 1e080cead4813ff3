"""`judgelaw reword`: rewordings of a study's own prompt, drawn, checked, and read by people."""

import getpass
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples, on_terminal, say_on_stderr
from judgelaw.cli.terminal import echo, show_table, write_json

if TYPE_CHECKING:
    from judgelaw.runs import Rewording


@click.command(
    epilog=examples(
        "judgelaw reword study.yaml --with my-judge --count 12",
        "judgelaw reword study.yaml --with rules",
        "judgelaw reword study-reworded.yaml --approve",
        "judgelaw reword study-reworded.yaml --count 24",
    )
)
@click.argument("study", metavar="STUDY", type=click.Path(path_type=Path))
@click.option(
    "--with",
    "who",
    metavar="JUDGE",
    help="Who rewords: a judge of the study, a function as package.module:function, a YAML file "
    "that declares a judge, or rules.",
)
@click.option(
    "--count", type=click.IntRange(min=1), help="How many prompts. [default: 12, or the study's]"
)
@click.option("--prompt", metavar="ID", help="The prompt to reword, where the study has several.")
@click.option(
    "--varied",
    is_flag=True,
    help="Choose a varied set out of four times as many draws: a census of these prompts.",
)
@click.option("--approve", is_flag=True, help="Read them in a browser and strike what changed.")
@click.option("--as", "reader", metavar="NAME", help="Who reads. [default: your user name]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Any free one by default.")
@click.option(
    "--public-url",
    metavar="URL",
    help="The address under which a proxy shows the page. [default: this machine alone]",
)
@click.option("--no-open", is_flag=True, help="Print the address and open no browser.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The study to write. [default: STUDY-reworded.yaml, or -approved.yaml]",
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(
    *,
    study: Path,
    who: str | None,
    count: int | None,
    prompt: str | None,
    varied: bool,
    approve: bool,
    reader: str | None,
    port: int,
    public_url: str | None,
    no_open: bool,
    out: Path | None,
    json_file: str | None,
) -> None:
    """Draw rewordings of a study's own prompt, and write a study that asks with them.

    Each draw is a request of its own with a seed of its own. Placeholders, labels and the sentences
    that say how to reply stay as they are; what the checks refuse is kept and asked again, three
    times at most. The same command goes on where it stopped, and a larger --count adds draws.

    With --approve people read them and strike what changed the meaning; a second study asks with
    what they approved.
    """
    from judgelaw.runs import reword_study

    found = reword_study(
        study,
        who=who,
        count=count,
        prompt=prompt,
        varied=varied,
        out=None if approve else out,
        shown=on_terminal(),
    )
    if approve:
        found = _read_by_people(found, reader or getpass.getuser(), port, public_url, no_open)
    if json_file is not None:
        write_json(found.to_json(), json_file)
    if json_file != "-":
        _show(found)
    _say_next(found, approved=out if approve else None)


def _read_by_people(
    found: "Rewording",
    reader: str,
    port: int,
    public_url: str | None,
    no_open: bool,  # noqa: FBT001 - a flag of the command
) -> "Rewording":
    """Serve the page until somebody ends it; return what they said."""
    from dataclasses import replace

    from judgelaw.live import LabelBook, label_server, rewordings_to_read
    from judgelaw.study import APPROVALS, read_approvals

    reading = rewordings_to_read(found.folder, found.template, found.kept, found.hints)
    with LabelBook(found.folder / APPROVALS) as book:
        for words in book.said:
            say_on_stderr(words)
        server = label_server(reading, book, labeller=reader, port=port, public=public_url)

        def opened() -> None:
            echo(server.address.url)
            if not (no_open or public_url or server.show()):
                say_on_stderr("open this address in a browser on this machine; Ctrl-C ends")

        server.run(opened)
    return replace(found, approvals=read_approvals(found.folder))


def _show(found: "Rewording") -> None:
    """Print every draw in a line: how often its text stands there, what was said, how it begins."""
    from judgelaw.study import Template, differs_first

    template = Template(id="", parts=found.source.parts)
    times = Counter(draw.wording for draw in found.kept)
    rows = []
    for draw in found.draws:
        refused = str(len(draw.refused))
        if draw.parts is None:
            rows.append([draw.template.id, "given up", refused, "-", draw.refused[-1].why])
            continue
        said = ", ".join(label or "cannot tell" for label in sorted(found.said(draw))) or "unread"
        same, differs = str(times[draw.wording]), differs_first(template, draw)
        rows.append([draw.template.id, said, refused, same, differs])
    columns = ["draw", "people", "refused before", "same text", "what differs first"]
    show_table(columns, rows, title=f"Rewordings of {found.loaded.study.name}, {found.folder}")


def _say_next(found: "Rewording", *, approved: Path | None) -> None:
    """Say on stderr how many there are, and what to do with them."""
    from judgelaw.study import approved_study

    prompts = found.source.prompts
    different = len({draw.wording for draw in found.kept})
    say_on_stderr(f"{len(found.kept)} rewordings, {different} different; {found.told_of_checks}")
    path = found.loaded.path
    if found.read:
        left = len(found.kept) - found.read
        more = f", {left} unread" if left else ""
        say_on_stderr(f"people read {found.read} of them and struck {found.struck}{more}")
        kept = len(found.approved)
        if kept > 1 and not prompts.approved and prompts.policy == "generator":
            path = approved_study(found.loaded, kept, approved).path
            say_on_stderr(f"{path} asks with the {kept} that are approved")
    else:
        say_on_stderr(f"read them: judgelaw reword {path} --approve")
    say_on_stderr(f"next: judgelaw audit {path}")
