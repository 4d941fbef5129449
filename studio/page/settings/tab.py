"""The Settings tab: the look, results and storage first; then tokens and commands for programs, and the machine."""

from collections.abc import Mapping

import gradio as gr

from engine.texts import tr
from studio.actions.account import (
    Preferences,
    change_preferences,
    make_token,
    preferences_of,
    tokens_view,
    withdraw_token,
)
from studio.actions.calls import last_call
from studio.actions.machine_and_storage import (
    checkup_view,
    clear_remakeable,
    limits_view,
    machine_view,
    start_checkup,
    storage_view,
    work_view,
)
from studio.page.parts.browser_memory import FORGET
from studio.page.parts.controls import controls, settings_of
from studio.page.parts.element import element, shown
from studio.page.parts.element_data import TokenId
from studio.page.parts.notice import inform, notice
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.values import Given, Values
from studio.page.parts.watched_task import WatchedTask
from studio.page.settings.rows import finding_rows, limit_rows, machine_rows, storage_rows, token_rows
from studio.settings.service import is_for_this_machine

_POLL_S = 1.0
_LOG_OUT = f"""() => {{ {FORGET} fetch("logout", {{ method: "POST" }}).then(() => location.reload()); }}"""
_EXPIRY = {tr("never"): None, tr("in 30 days"): 30, tr("in 90 days"): 90, tr("in a year"): 365}
_TOKENS = "<h2>" + tr("Tokens") + "</h2>"
_TOKENS += "<p>" + tr("Programs need a token to use this service. It gives access to your account.") + "</p>"
_TERMINAL = "<h2>" + tr("Use from a terminal") + "</h2>"
_TERMINAL += "<p>" + tr("Your last action on this page as commands. Set $TOKEN to one of your tokens.") + "</p>"
_TERMINAL += '<p><a href="/docs">' + tr("All requests are described in the API documentation.") + "</a></p>"
_NOTHING_DONE = tr("Convert a recording or train a voice to see the matching commands here.")
_LAST_TOKEN = tr("This is the only valid token. Without it nobody can log in to this account, including you.")
_NOT_CHECKED = tr("This machine has not been checked yet.")
_CHECK = tr("Check this machine")
_CLEARED = tr("Cleared. Recordings, takes, voices and trainings are all kept.")
_RATES = [(tr("Best variable rate"), 0), *((tr("{kbps} kbps", kbps=kbps), kbps) for kbps in (320, 256, 192, 128))]
_SAVED = tr("Saved. Downloads are offered, encoded and named like this from now on.")


class ResultSettings:
    """How results are written: controls made from the fields of Preferences, filled in when the tab is shown."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._controls = controls(Preferences, ["format"])
        self._controls["mp3_kbps"] = gr.Dropdown(_RATES, label="Mp3", value=0, filterable=False, elem_id="results-mp3")
        self._controls |= controls(Preferences, ["rate", "bits", "naming"])
        self._save = gr.Button(tr("Save"), size="sm", elem_id="results-save")
        self._notice = notice("results-notice")

    def wire(self, tab: gr.Tab) -> None:
        """Wire the events."""
        made = list(self._controls.values())
        self._page.on(tab.select, self._fill, [], made)
        self._page.on(self._save.click, self._keep, set(made), made, notice=self._notice)

    def _fill(self, visit: Visit) -> Values:
        kept = preferences_of(visit.studio.database, visit.account)
        values: Values = {control: getattr(kept, name) for name, control in self._controls.items()}
        own = (
            []
            if kept.mp3_kbps in dict(_RATES).values()
            else [(tr("{mp3_kbps} kbps", mp3_kbps=kept.mp3_kbps), kept.mp3_kbps)]
        )
        return values | {self._controls["mp3_kbps"]: gr.Dropdown([*_RATES, *own], value=kept.mp3_kbps)}

    def _keep(self, visit: Visit, given: Given) -> Updates:
        change_preferences(visit.studio.database, visit.account, settings_of(self._controls, given))
        return self._fill(visit) | {self._notice: inform(_SAVED)}


class SettingsTab:
    """Layout, events and wiring; made inside the tab."""

    def __init__(self, page: Page, tab: gr.Tab) -> None:
        self._page = page
        with gr.Row(equal_height=False, elem_id="settings"):
            with gr.Column(min_width=320):
                self._lay_out_own()
            with gr.Column(min_width=320):
                self._lay_out_service()
            with gr.Column(min_width=320):
                self._lay_out_machine()
        self._checkup = WatchedTask(_POLL_S)
        self._wire(tab)

    def _lay_out_own(self) -> None:
        gr.HTML("<h2>" + tr("Appearance") + "</h2>")
        element("theme", data={}, elem_id="theme")
        element("language", data={}, elem_id="language")
        gr.HTML("<h2>" + tr("Results") + "</h2>")
        self._results = ResultSettings(self._page)
        gr.HTML("<h2>" + tr("Storage") + "</h2>")
        self._storage = element("facts", elem_id="storage")
        self._clear = gr.Button(tr("Clear cache"), size="sm", elem_id="storage-clear")
        self._clear_notice = notice("storage-notice")

    def _lay_out_service(self) -> None:
        gr.HTML(_TOKENS)
        self._tokens = element("tokens", events=("revoke", "noted"), elem_id="tokens")
        with gr.Row(equal_height=True):
            self._name = gr.Textbox(label=tr("Token name"), placeholder=tr("My program"), max_length=200)
            self._expiry = gr.Dropdown(list(_EXPIRY), value=next(iter(_EXPIRY)), label=tr("Expires"), filterable=False)
        self._make = gr.Button(tr("Create token"), variant="primary")
        self._token_notice = notice("tokens-notice")
        if not is_for_this_machine(self._page.studio.service):  # only there does one log in
            log_out = gr.Button(tr("Log out"), size="sm")
            log_out.click(None, js=_LOG_OUT, api_visibility="private", show_progress="hidden")
        gr.HTML(_TERMINAL)
        self._call = element("command", elem_id="last-call")

    def _lay_out_machine(self) -> None:
        gr.HTML("<h2>" + tr("Machine") + "</h2>")
        self._machine = element("facts", elem_id="machine")
        self._findings = element("facts", elem_id="findings")
        self._check = gr.Button(_CHECK, size="sm")
        self._check_notice = notice("machine-notice")
        gr.HTML("<h2>" + tr("Limits") + "</h2>")
        element("facts", data={"rows": limit_rows(limits_view(self._page.studio))}, elem_id="limits")

    def _wire(self, tab: gr.Tab) -> None:
        page, checked = self._page, [self._findings, self._check, self._checkup.timer]
        self._results.wire(tab)
        page.on(tab.select, self._show, [], [self._call, self._machine, self._storage, self._tokens, *checked])
        for event in (self._make.click, self._name.submit):
            page.on(
                event,
                self._make_token,
                [self._name, self._expiry],
                [self._name, self._tokens],
                notice=self._token_notice,
            )
        page.on_data(self._tokens.revoke, self._revoke, [], [self._tokens], notice=self._token_notice)
        page.on_data(
            self._tokens.noted, lambda visit, _: self._listed(visit), [], [self._tokens], notice=self._token_notice
        )
        page.on(self._clear.click, self._clear_storage, [], [self._storage], notice=self._clear_notice)
        page.on(self._check.click, self._start_check, [], checked, notice=self._check_notice)
        self._checkup.wire(page, self._checked, [], checked, tab=tab)
        page.on_data(page.tabs.select, self._hide_new_token, [], [self._tokens])

    def _show(self, visit: Visit) -> Updates:
        studio, account = visit.studio, visit.account
        if checkup_view(studio, account) is None and studio.service.executor == "local":
            start_checkup(studio, account)  # once; later only on request
        return {
            self._call: shown((last_call(studio, account) or {}) | {"otherwise": _NOTHING_DONE}),
            self._machine: shown({"rows": machine_rows(machine_view(studio, account), work_view(studio, account))}),
            **self._stored(visit),
            **self._listed(visit),
            **self._checked(visit),
        }

    def _stored(self, visit: Visit) -> Values:
        return {self._storage: shown({"rows": storage_rows(visit.do(storage_view))})}

    def _clear_storage(self, visit: Visit) -> Updates:
        visit.do(clear_remakeable)
        return self._stored(visit) | {self._clear_notice: inform(_CLEARED)}

    def _listed(self, visit: Visit, made: dict[str, str] | None = None) -> Values:
        found = visit.do(tokens_view)
        is_last = not visit.account.is_local and sum(one.state == "valid" for one in found) == 1
        data = {"made": made, "tokens": token_rows(found)} | ({"warning": _LAST_TOKEN} if is_last else {})
        return {self._tokens: shown(data)}

    def _checked(self, visit: Visit) -> Values:
        found = visit.do(checkup_view)
        is_active = found is not None and found.state in ("queued", "running")
        return {
            self._findings: shown({"rows": finding_rows(found), "otherwise": _NOT_CHECKED}),
            self._check: gr.Button(tr("Checking …") if is_active else _CHECK, interactive=not is_active),
            **self._checkup.begin(is_active),
        }

    def _make_token(self, visit: Visit, name: str, expiry: str) -> Updates:
        made, secret = visit.do(make_token, name.strip() or "unnamed", _EXPIRY[expiry])
        return {self._name: "", **self._listed(visit, {"name": made.name, "secret": secret})}

    def _revoke(self, visit: Visit, data: TokenId) -> Updates:
        revoked = visit.do(withdraw_token, str(data.get("id")))
        return {
            self._token_notice: inform(tr("Token '{name}' has been revoked.", name=revoked.name)),
            **self._listed(visit),
        }

    def _start_check(self, visit: Visit) -> Updates:
        visit.do(start_checkup)
        return self._checked(visit)

    def _hide_new_token(self, visit: Visit, to: Mapping[str, object]) -> Updates:
        return None if to.get("value") == "Settings" else self._listed(visit)
