"""Where the parts of a file lie, whatever they hold."""
