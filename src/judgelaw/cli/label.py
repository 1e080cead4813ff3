"""`judgelaw label`: labels by people, one key an item, each on the disk before the next."""

import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgelaw.cli.options import examples, say_on_stderr
from judgelaw.cli.table_options import table_options
from judgelaw.cli.terminal import echo
from judgelaw.tables import Wishes

if TYPE_CHECKING:
    from judgelaw.live import LabelBook, Labelling


@click.command(
    epilog=examples(
        "judgelaw label items.jsonl --as ann",
        "judgelaw label calls.csv --labels pass,fail --out labels.csv",
        "judgelaw label runs/first --labels 1-5",
    )
)
@click.argument("source", metavar="TABLE|ITEMS|RUN", type=click.Path(path_type=Path))
@click.option(
    "--labels",
    metavar="A,B,...",
    help="The labels that may be given, or a range of scores as 1-5. [default: the candidates of "
    "pairs and tie, the labels of the study, or the verdicts of the table]",
)
@click.option("--as", "labeller", metavar="NAME", help="Who labels. [default: your user name]")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where labels go. [default: NAME-labels.csv beside the source]",
)
@table_options
@click.option("--show", metavar="A,B,...", help="The columns that a person sees.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Any free one by default.")
@click.option(
    "--public-url",
    metavar="URL",
    help="The address under which a proxy shows the page. [default: this machine alone]",
)
@click.option("--no-open", is_flag=True, help="Print the address and open no browser.")
def command(
    *,
    source: Path,
    labels: str | None,
    labeller: str | None,
    said: Wishes,
    out: Path | None,
    show: str | None,
    port: int,
    public_url: str | None,
    no_open: bool,
) -> None:
    """Label items in a browser, in random order and without the verdict.

    Each key is a row of a CSV file (item, label, labeller, note, time), on the disk before the next
    item is shown; the same command goes on where it stopped. Where the source has verdicts, a
    second file puts them beside the labels, as `judgelaw validate` reads them.
    """
    from judgelaw.live import LabelBook, label_server, read_labelling

    labelling = read_labelling(
        source, labels=(labels or "").split(","), show=show.split(",") if show else (), said=said
    )
    target = out or source.with_name(f"{source.name.split('.')[0]}-labels.csv")
    who = labeller or getpass.getuser()
    with LabelBook(target) as book:
        for words in book.said:
            say_on_stderr(words)
        at_start = len(book.said)
        server = label_server(labelling, book, labeller=who, port=port, public=public_url)

        def opened() -> None:
            echo(server.address.url)
            if not (no_open or public_url or server.show()):
                say_on_stderr("open this address in a browser on this machine; Ctrl-C ends")

        server.run(opened)
        for words in book.said[at_start:]:
            say_on_stderr(words)
        done = sum(item in labelling.items for item in book.of(who))
        say_on_stderr(
            f"{done} of {len(labelling.items)} items have a label by {who}; they are in {target}"
        )
        _join(labelling, book, target)


def _join(labelling: "Labelling", book: "LabelBook", target: Path) -> None:
    """Write the calls with the labels of their items, and name the command that reads them."""
    from judgelaw.live import joined, write_table

    if not (labelling.calls and any(row.label for row in book.labels)):
        return
    beside = target.with_name(f"{target.name.removesuffix('.csv')}-and-verdicts.csv")
    write_table(beside, joined(labelling, book.labels))
    say_on_stderr(f"next: judgelaw validate {beside} --human label")
