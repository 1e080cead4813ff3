"""`python -m judgelaw` is the command line."""

from judgelaw.cli import main

main()
