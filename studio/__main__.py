"""`python -m studio`: the command line."""

from studio.commands.beginning import main

main()
