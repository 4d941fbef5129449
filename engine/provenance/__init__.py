"""Content credentials and signed consent: states and verifies what was made here."""
