"""The commands, a module for each group; studio.cli puts them together."""
