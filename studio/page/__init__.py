"""The Gradio page: tabs, their parts, scripts and styles."""
