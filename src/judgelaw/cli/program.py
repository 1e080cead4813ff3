"""The `judgelaw` group: lazy commands, and one place where errors become exit codes."""

import gc
import sys
import traceback
from difflib import get_close_matches
from importlib import import_module
from io import StringIO
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

import judgelaw
from judgelaw.cli.table_options import ARGV, commands
from judgelaw.cli.terminal import echo, say
from judgelaw.cli.volume import with_volume
from judgelaw.errors import (
    IncompleteDesignError,
    JudgelawError,
    TableError,
    UnclearTableError,
    storage_error,
)
from judgelaw.processes import quieten_blas

# Group -> command -> the sentence that `judgelaw --help` shows. A command is added by its line here
# and a module of the same name, with a trailing underscore where the name is a Python keyword; its
# command object is `command`.
GROUPS = {
    "Start": {
        "demo": "Audit a judge whose faults are known, in seconds.",
        "init": "Write a commented study to start from.",
        "check": "Check a study and show what it would run.",
        "plan": "Show what a study costs and how much it will know, before any call.",
        "audit": "From a study to its report in one command; the same command resumes.",
        "status": "Say how far a run is, and how its calls ended.",
    },
    "Answer": {
        "analyze": "May this judge be used, and what should change?",
        "report": "Write the answer with all its evidence as one HTML page.",
        "compare": "Put judges, or prompts, side by side on the items that they share.",
        "panel": "Say whether a jury of judges is worth its calls, and which.",
        "gate": "Pass or fail a judge against limits, for a CI job.",
        "validate": "Hold a judge against people's labels: what it catches and what it misses.",
        "advise": "Show what every way to ask comes to, and what a target costs.",
        "score": "Score a benchmark: how sure it is, what moves it, which systems it tells apart.",
        "watch": "Say whether a judge moved since the first date; an alarm for a scheduled job.",
    },
    "More": {
        "import": "Turn logs of other tools into a calls table, and say what it can tell.",
        "regrade": "Ask the grader of a log again, or others, about the same answers.",
        "label": "Label items by key in a browser; every label is on the disk at once.",
        "view": "Show the runs of a folder in a browser, live; two of them side by side.",
        "verify": "Recompute and verify a run folder.",
        "merge": "Join the shards of a run into one folder.",
        "reword": "Draw rewordings of a study's own prompt, and a study that asks with them.",
        "reparse": "Read stored completions under another parser, offline.",
        "extend": "Add repeats to a run, or prompts to a generator; what is there stays.",
        "release": "Write a package of a run that others can verify, without private parts.",
        "paper": "Make the paper's tables and figures of your calls, or check the published ones.",
        "worker": "Ask calls of runs in a shared PostgreSQL ledger, beside other workers.",
        "schema": "Print the JSON Schema of study files.",
        "completion": "Print what makes a shell complete commands and options.",
    },
}
UNSEEN = {
    "run": "Ask every call of a study, as `audit --no-report` does.",
    "simulate": "Known-law studies: see the estimators against the truth.",
}
"""Commands that work and that `--help` does not list."""
SHOWN = {name: about for group in GROUPS.values() for name, about in group.items()}
COMMANDS = {**SHOWN, **UNSEEN}

OK, BUG, INTERRUPTED = 0, 70, 130


class LazyGroup(click.Group):
    """A group whose commands are imported when they run, not when the list is shown."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words of the command line for messages that write it again."""
        ctx.meta[ARGV] = tuple(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order in which people meet them."""
        del ctx
        return list(SHOWN)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if name not in COMMANDS:
            near = get_close_matches(name, COMMANDS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; see judgelaw --help"
            raise click.UsageError(f"no command is called {name!r}{hint}")
        module = import_module(f"judgelaw.cli.{'import_' if name == 'import' else name}")
        command: click.Command = module.command
        return with_volume(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the groups from the table above, without importing the commands."""
        del ctx
        widest = max(map(len, SHOWN))
        with formatter.section("Commands"):
            for group, commands in GROUPS.items():
                with formatter.section(group):
                    formatter.write_dl([(f"{n:{widest}}", said) for n, said in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands from the table above, without importing them."""
        names = [name for name in SHOWN if name.startswith(incomplete)]
        found = [CompletionItem(name, help=SHOWN[name]) for name in names]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(judgelaw.__version__, prog_name="judgelaw")
def cli() -> None:
    """May this LLM judge be used, and what should change?

    \b
    See it work:       judgelaw demo
    Audit a judge:     judgelaw init, then judgelaw audit study.yaml
    Analyse a table:   judgelaw analyze calls.csv
    """  # noqa: D301 - a backspace keeps click from folding the lines together


with_volume(cli)

_BETWEEN_COLLECTIONS = 100_000
"""New values between two looks for cycles; Python looks every 700."""


def main(argv: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code; errors of ours are one line."""
    # Looking for cycles among a million small values takes a twentieth of an analysis.
    gc.set_threshold(_BETWEEN_COLLECTIONS)
    quieten_blas()
    sys.exit(_run(argv))


def _run(argv: list[str] | None) -> int:  # noqa: PLR0911 - one return for each way to end
    try:
        result = cli.main(args=argv, prog_name="judgelaw", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        words = StringIO()
        error.show(words)
        echo(words.getvalue(), err=True, nl=False)  # it may quote a file name or a value
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        echo(
            "judgelaw: interrupted; what was acquired is saved, the same command goes on", err=True
        )
        return INTERRUPTED
    except UnclearTableError as error:
        told, _, _ = str(error).partition("\nin Python: ")
        say(f"judgelaw: {told}", err=True)
        for line in commands(sys.argv[1:] if argv is None else argv, error):
            echo(line, err=True)
        return error.exit_code
    except JudgelawError as error:
        say(f"judgelaw: {error}{_in_options(error)}", err=True)
        return error.exit_code
    except BrokenPipeError:
        # The reader (`| head`) has closed the pipe; Python would raise again on closing stdout.
        sys.stdout = None
        return OK
    except Exception as error:  # noqa: BLE001 - the last stop: what nobody foresaw is a bug
        if (full := storage_error(_place(error), error)) is not None:
            echo(f"judgelaw: {full}", err=True)
            return full.exit_code
        echo(traceback.format_exc(), err=True)
        echo(f"judgelaw {judgelaw.__version__}: this is a bug, please report the above", err=True)
        return BUG
    # A command may return an exit code (a gate that failed); everything else is done.
    return result if isinstance(result, int) else OK


def _in_options(error: JudgelawError) -> str:
    """Name the option of the command line where a message speaks Python."""
    if isinstance(error, IncompleteDesignError) and "incomplete=" in str(error):
        return " (here: --incomplete drop)"
    if isinstance(error, TableError) and "columns={" in str(error):
        return " (here: --columns PART=NAME)"
    return ""


def _place(error: Exception) -> str:
    """Name the file that could not be written, where the system says which."""
    return str(getattr(error, "filename", None) or "a file or the output of this command")
