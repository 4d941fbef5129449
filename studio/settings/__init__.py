"""Settings of the service, from the command line and the environment."""
