"""Models of RVC: their files, their networks, and the listener they need."""
