"""What goes between a client and a server."""
