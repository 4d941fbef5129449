"""Small experiments that the notebooks show."""
