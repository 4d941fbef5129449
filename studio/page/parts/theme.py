"""The page's colours and fonts. Only system fonts are used, so nothing is downloaded."""

import gradio as gr
from gradio.themes.utils.colors import Color

# shades from light to dark, and the name
_SHADES = "#fdf0f6 #fbdcea #f7b8d4 #f08bb7 #e55694 #d6246e #b91a5c #98154b #77123c #5a0f2e #3a081d magenta".split()
_MAGENTA = Color(*_SHADES)
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
        # one surface: fields stand on the page and not in boxes, and buttons are outlined
        block_border_width="0px",
        block_padding="0px",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_label_background_fill="transparent",
        block_label_background_fill_dark="transparent",
        block_label_border_width="0px",
        form_gap_width="0px",
        layout_gap="*spacing_xl",
        button_border_width="1px",
        button_secondary_background_fill="*background_fill_primary",
        button_secondary_background_fill_hover="*background_fill_secondary",
        button_secondary_background_fill_dark="transparent",
        button_secondary_background_fill_hover_dark="*background_fill_secondary",
        button_secondary_border_color="*border_color_primary",
        button_secondary_border_color_hover="*primary_500",
        button_secondary_border_color_dark="*border_color_primary",
        button_secondary_border_color_hover_dark="*primary_400",
        button_secondary_text_color="*body_text_color",
        button_secondary_text_color_dark="*body_text_color",
        button_primary_border_color="*primary_500",
        button_primary_border_color_dark="*primary_500",
        # what cannot be undone looks like it
        button_cancel_background_fill=_RED,
        button_cancel_background_fill_hover=_DARK_RED,
        button_cancel_background_fill_dark=_RED,
        button_cancel_background_fill_hover_dark=_DARK_RED,
        button_cancel_text_color="white",
        button_cancel_text_color_hover="white",
        button_cancel_text_color_dark="white",
        button_cancel_text_color_hover_dark="white",
    )
