"""`judgelaw completion`: what makes a shell complete commands and options."""

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import echo

VARIABLE = "_JUDGELAW_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog=examples(
        'eval "$(judgelaw completion bash)"    # in ~/.bashrc',
        'eval "$(judgelaw completion zsh)"     # in ~/.zshrc',
        "judgelaw completion fish > ~/.config/fish/completions/judgelaw.fish",
    )
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the script that makes a shell complete commands, options and file names.

    Bash needs version 4.4 or later; macOS comes with an older one, and with zsh.
    """
    from click.shell_completion import get_completion_class

    from judgelaw.cli.program import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell!r}; there is {', '.join(SHELLS)}")
    script = kind(cli, {}, "judgelaw", VARIABLE)
    echo(script.source_template % script.source_vars())
