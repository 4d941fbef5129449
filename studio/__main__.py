"""`python -m studio`: the command line."""

from studio.commands.cli import main

main()
