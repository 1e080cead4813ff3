"""`judgelaw view`: the runs of a folder in a browser, while they go on."""

from pathlib import Path

import click

from judgelaw.cli.options import examples, say_on_stderr
from judgelaw.cli.terminal import echo


@click.command(
    epilog=examples("judgelaw view", "judgelaw view runs/", "judgelaw view runs/first --no-open")
)
@click.argument(
    "folder", metavar="[FOLDER]", default=Path(), type=click.Path(path_type=Path), required=False
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Any free one by default.")
@click.option(
    "--public-url",
    metavar="URL",
    help="The address under which a proxy shows the page. [default: this machine alone]",
)
@click.option("--no-open", is_flag=True, help="Print the address and open no browser.")
def command(*, folder: Path, port: int, public_url: str | None, no_open: bool) -> None:
    """Show the runs of a folder: progress, cost, what each found; one run live, two side by side.

    The page is served on this machine alone, to whoever has the address with its token; nothing is
    written. Ctrl-C ends it, and does nothing to a run under way.
    """
    from judgelaw.live import view_server

    server = view_server(folder, port=port, public=public_url)

    def opened() -> None:
        echo(server.address.url)
        if not (no_open or public_url or server.show()):
            say_on_stderr("open this address in a browser on this machine; Ctrl-C ends")

    server.run(opened)
    say_on_stderr("ended; runs go on as they were")
