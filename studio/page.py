"""The page: tabs over the same actions as the service's routes.

On this machine alone it works as the local account. Where others can reach it, it asks for a token, and whoever has
one works in that token's account.
"""

import os
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI

from studio.accounts import Account, account_of_token, find_account, may_still_come_in
from studio.errors import Unauthorised
from studio.gate import API
from studio.reach import OnlyThisMachine
from studio.studio import Studio

# before gradio is imported: it looks hosts up otherwise, and starts a second server where it finds Node
OFFLINE = {"GRADIO_ANALYTICS_ENABLED": "False", "GRADIO_SSR_MODE": "False", "HF_HUB_OFFLINE": "1"}
_DELETE_CACHE_S = (3600, 86400)  # how often, and how old


def mount_page(app: FastAPI, studio: Studio, ask_for_token: bool) -> FastAPI:
    """The app with the page at "/", behind its own routes."""
    os.environ.update(OFFLINE)
    os.environ.setdefault("GRADIO_TEMP_DIR", str(studio.settings.work / "page"))
    import gradio as gr

    from studio.tabs.convert import build_convert_tab

    if not ask_for_token:
        app.add_middleware(OnlyThisMachine, guarded=API)
    account_of = _account_named(studio) if ask_for_token else lambda request: studio.local
    with gr.Blocks(title="Timbre Studio", analytics_enabled=False, delete_cache=_DELETE_CACHE_S) as page:
        gr.Markdown("# Timbre Studio\nThe same performance in another voice.")
        with gr.Tab("Convert"):
            build_convert_tab(page, studio, account_of)
    return gr.mount_gradio_app(
        app,
        page,
        path="/",
        ssr_mode=False,
        run_history=False,
        auth=_check(studio) if ask_for_token else None,
        footer_links=["settings"],
        auth_message="The name is that of your account, the password a token of it.",
        max_file_size=studio.service.largest_upload_mb * 1_000_000,
    )


def _check(studio: Studio) -> Callable[[str, str], bool]:
    def is_right(name: str, token: str) -> bool:
        account = account_of_token(studio.database, token)
        return account is not None and account.name == name

    return is_right


def _account_named(studio: Studio) -> Callable[[Any], Account]:
    def account_of(request: Any) -> Account:
        account = find_account(studio.database, request.username or "")
        if not may_still_come_in(studio.database, account):  # a session outlives the token it began with
            raise Unauthorised("All tokens of this account have expired or been revoked: make a new one and log in.")
        return account

    return account_of
