"""The `judgelaw` group: lazy commands, and one place where errors become exit codes."""

import sys
from importlib import import_module
from typing import Any

import click

import judgelaw
from judgelaw.errors import JudgelawError

# name of the command -> the sentence that `judgelaw --help` shows. The module has the same name,
# with a trailing underscore where the name is a Python keyword; its command object is `command`.
COMMANDS = {
    "simulate": "Known-law studies: see the estimators against the truth.",
}

INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group whose commands are imported when they run, not when the list is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order in which people meet them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if name not in COMMANDS:
            return None
        module = import_module(f"judgelaw.cli.{'import_' if name == 'import' else name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the list from the table above, without importing the commands."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(judgelaw.__version__, prog_name="judgelaw")
def cli() -> None:
    """How much of an LLM judge's disagreement is dice, prompt, answer order or interaction."""


def main(argv: list[str] | None = None) -> Any:
    """Run the command line; every error of ours ends in one line and its exit code."""
    try:
        cli.main(args=argv, prog_name="judgelaw", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("judgelaw: interrupted", err=True)
        sys.exit(INTERRUPTED)
    except JudgelawError as error:
        click.echo(f"judgelaw: {error}", err=True)
        sys.exit(error.exit_code)
