"""The commands, a module for each group; studio.commands.cli puts them together."""
