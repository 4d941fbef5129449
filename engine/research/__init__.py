"""What measures, prepares and explains the engine. It is in the project's folder, not in what is installed."""
