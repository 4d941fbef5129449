"""Conversions: started, shown, and what is made of their takes."""
