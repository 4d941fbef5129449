"""`python -m studio`: the command line."""

from studio.cli import main

main()
