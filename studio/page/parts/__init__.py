"""What the tabs of the page are made of: events, notices, controls and our own elements."""
