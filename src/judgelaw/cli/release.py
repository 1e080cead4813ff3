"""`judgelaw release`: a package of a run that others can check."""

from pathlib import Path

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import progress, say, write_json

SCHEMA = "judgelaw.release/1"


@click.command(
    epilog=examples(
        "judgelaw release runs/paper -o package",
        "judgelaw release runs/paper -o package --without-texts --times",
        "judgelaw verify package",
    )
)
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Where the package goes; a new or an empty folder.",
)
@click.option("--without-texts", is_flag=True, help="Leave the texts of items out; hashes stay.")
@click.option("--times", is_flag=True, help="Add when each call was made, for slopes on time.")
@click.option("--completions", is_flag=True, help="Add what every judge said.")
@click.option(
    "--author",
    "authors",
    multiple=True,
    metavar="NAME",
    help="Who made it, for the citation file; may be repeated. Without, there is none.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout.")
def command(
    *,
    run: Path,
    folder: Path,
    without_texts: bool,
    times: bool,
    completions: bool,
    authors: tuple[str, ...],
    json_file: str | None,
) -> None:
    """Write the privacy-reduced package of a finished run.

    Calls, frozen manifest, study, prompts with hashes, tables, figures, environment, a page to
    read first, a data dictionary, a citation file, and the hash of every file. No times, no
    completions unless asked; never request ids, addresses or keys. `judgelaw verify FOLDER` makes
    every table again and compares it to the byte.
    """
    from judgelaw.cli.options import require_folder
    from judgelaw.runs import Contents, release
    from judgelaw.study import SUMS, file_sha256

    require_folder(run)
    contents = Contents(
        texts=not without_texts, times=times, completions=completions, authors=authors
    )
    made = release(run, folder, contents, progress=progress)
    root = file_sha256(folder / SUMS)
    if json_file is not None:
        found = {"schema": SCHEMA, **vars(made), "folder": str(made.folder), "root": root}
        write_json(found, json_file)
    if json_file != "-":
        left = ", ".join(made.left_out)
        say(f"{made.calls:,} calls in {len(made.files)} files are in {folder}. Left out: {left}.")
        say(f"root hash {root}: publish it elsewhere, and nobody changes the package unseen")
        say(f"next: judgelaw verify {folder} --root {root}", err=True)
