"""The commands, one module per group, assembled by studio.commands.cli."""
