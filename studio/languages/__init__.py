"""Speaks to people in their language: texts are recognised where they are shown, and translated there."""
