"""Lessons in Markdown, and the site that is made of them."""
