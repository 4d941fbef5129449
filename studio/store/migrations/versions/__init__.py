"""The steps of the schema in order; a released step never changes."""
