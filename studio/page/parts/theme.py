"""The page's colours and fonts. Only system fonts are used, so nothing is downloaded."""

import gradio as gr
from gradio.themes.utils.colors import Color

_MAGENTA = Color(
    name="magenta",
    c50="#fdf0f6", c100="#fbdcea", c200="#f7b8d4", c300="#f08bb7", c400="#e55694", c500="#d6246e",
    c600="#b91a5c", c700="#98154b", c800="#77123c", c900="#5a0f2e", c950="#3a081d",
)  # fmt: skip
_RED, _DARK_RED = "#c53030", "#9b2c2c"


def theme() -> gr.themes.Base:
    """Return the theme, for light and dark."""
    return gr.themes.Base(
        primary_hue=_MAGENTA,
        secondary_hue="slate",
        neutral_hue="slate",
        radius_size="md",
        font=["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"],
        font_mono=["ui-monospace", "Cascadia Mono", "Menlo", "monospace"],
    ).set(  # gradio's own have too little contrast
        body_text_color_subdued="*neutral_600",
        link_text_color_dark="*secondary_400",
        # what cannot be undone looks like it
        button_cancel_background_fill=_RED, button_cancel_background_fill_hover=_DARK_RED,
        button_cancel_background_fill_dark=_RED, button_cancel_background_fill_hover_dark=_DARK_RED,
        button_cancel_text_color="white", button_cancel_text_color_hover="white",
        button_cancel_text_color_dark="white", button_cancel_text_color_hover_dark="white",
    )
