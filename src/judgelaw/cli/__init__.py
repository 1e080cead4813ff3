"""The command line: one file a command.

Commands load when they are called, so that `judgelaw --help` answers at once.
"""

from judgelaw.cli.program import main as main
