"""The Settings tab: tokens and calls for programs, the theme, and how the installation is."""

from typing import Any

import gradio as gr

from studio.actions.calls import last_call
from studio.actions.state import (
    checkup_view,
    limits_view,
    machine_view,
    start_checkup,
    storage_view,
    work_view,
)
from studio.actions.tokens import make_token, take_back_token, tokens_view
from studio.page.parts.element import element, shown
from studio.page.parts.memory import FORGET
from studio.page.parts.notice import notice, told
from studio.page.parts.page import Page, Visit
from studio.page.tabs.settings_rows import finding_rows, limit_rows, machine_rows, storage_rows, token_rows
from studio.settings.service import is_for_this_machine

_POLL_S = 1.0
_LEAVE = f"""() => {{ {FORGET} location.assign("/logout?all_session=false"); }}"""
_EXPIRY = {"never": None, "in 30 days": 30, "in 90 days": 90, "in a year": 365}
_NOTHING_DONE = "Convert something, or train a voice: the line that does the same from a program is then shown here."
_LAST_TOKEN = "This is the only token: without it nobody can log in here any more, you included."
_NOT_TRIED = "What the machine can do has not been tried yet."


def build_settings_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    with gr.Row(equal_height=False):
        with gr.Column(min_width=360):
            gr.Markdown("## Tokens\nA program that uses the service needs a token. It works in your account.")
            tokens = element("tokens", events=("revoke", "noted"), elem_id="tokens")
            with gr.Row(equal_height=True):
                name = gr.Textbox(label="What it is for", placeholder="my program", max_length=200)
                expiry = gr.Dropdown(
                    [(label, label) for label in _EXPIRY], value=next(iter(_EXPIRY)), label="It ends", filterable=False
                )
            make = gr.Button("Make a token", variant="primary")
            said = notice("tokens-notice")
            if not is_for_this_machine(page.studio.service):  # there one has logged in
                log_out = gr.Button("Log out", size="sm")
                log_out.click(None, js=_LEAVE, api_visibility="private", show_progress="hidden")
            gr.Markdown(
                "## From a program\nWhat you did last on the page, as lines for a terminal. "
                "`$TOKEN` stands for a token of yours; all calls are described [here](/docs)."
            )
            call = element("command", elem_id="last-call")
            gr.Markdown("## Limits")
            element("facts", data={"rows": limit_rows(limits_view(page.studio))}, elem_id="limits")
        with gr.Column(min_width=360):
            gr.Markdown("## Look")
            element("theme", data={}, elem_id="theme")
            gr.Markdown("## Machine")
            machine = element("facts", elem_id="machine")
            findings = element("facts", elem_id="findings")
            check = gr.Button("Try what it can do", size="sm")
            checked = notice("machine-notice")
            gr.Markdown("## Storage")
            storage = element("facts", elem_id="storage")
    timer = gr.Timer(_POLL_S, active=False)

    def listed(visit: Visit, made: dict[str, str] | None = None) -> Any:
        found = tokens_view(visit.studio, visit.account)
        is_last = not visit.account.is_local and sum(one["state"] == "valid" for one in found) == 1
        data = {"made": made, "tokens": token_rows(found)} | ({"warning": _LAST_TOKEN} if is_last else {})
        return {tokens: gr.HTML(value=shown(data))}

    def tried(visit: Visit) -> Any:
        found = checkup_view(visit.studio, visit.account)
        is_active = found is not None and found["state"] in ("queued", "running")
        data = {"rows": finding_rows(found), "otherwise": _NOT_TRIED}
        return {
            findings: gr.HTML(value=shown(data)),
            check: gr.Button("Trying …" if is_active else "Try what it can do", interactive=not is_active),
            timer: gr.Timer(active=is_active),
        }

    def show(visit: Visit) -> Any:
        studio, account = visit.studio, visit.account
        if checkup_view(studio, account) is None and studio.service.executor == "local":
            start_checkup(studio, account)  # once; later it is asked for
        facts = machine_rows(machine_view(studio, account), work_view(studio, account))
        return {
            call: gr.HTML(value=shown((last_call(studio, account) or {}) | {"otherwise": _NOTHING_DONE})),
            machine: gr.HTML(value=shown({"rows": facts})),
            storage: gr.HTML(value=shown({"rows": storage_rows(storage_view(studio, account))})),
            **listed(visit),
            **tried(visit),
        }

    def make_one(visit: Visit, wanted: str, until: str) -> Any:
        made, secret = make_token(visit.studio, visit.account, wanted.strip() or "unnamed", _EXPIRY[until])
        return {name: "", **listed(visit, {"name": made["name"], "secret": secret})}

    def revoke(visit: Visit, data: dict[str, Any]) -> Any:
        gone = take_back_token(visit.studio, visit.account, str(data.get("id")))
        return {said: told(f"The token '{gone['name']}' is revoked."), **listed(visit)}

    def try_out(visit: Visit) -> Any:
        start_checkup(visit.studio, visit.account)
        return tried(visit)

    def leave(visit: Visit, chosen: dict[str, Any]) -> Any:
        if chosen.get("value") == "Settings":
            return None
        return {timer: gr.Timer(active=False), **listed(visit)}  # a new token is not left lying about

    page.on(tab.select, show, [], [call, machine, storage, tokens, findings, check, timer])
    page.on(make.click, make_one, [name, expiry], [name, tokens], notice=said)
    page.on(name.submit, make_one, [name, expiry], [name, tokens], notice=said)
    page.on_data(tokens.revoke, revoke, [], [tokens], notice=said)
    page.on_data(tokens.noted, lambda visit, data: listed(visit), [], [tokens], notice=said)
    page.on(check.click, try_out, [], [findings, check, timer], notice=checked)
    page.on(timer.tick, tried, [], [findings, check, timer], trigger_mode="once")
    page.on_data(page.tabs.select, leave, [], [timer, tokens])
