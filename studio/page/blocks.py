"""The page: tabs over the same actions as the service's routes.

On this machine alone, visitors work in the local account. Where others can reach the page, they log in with a token and
work in its account. In a demo, every browser has an account of its own for a while.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name, walk_packages
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.staticfiles import StaticFiles

from engine.texts import ntr, tr
from engine.units import in_words
from engine.voices.card import DEMO_VOICES
from studio.actions import analyses
from studio.actions.conversions.live import LiveSessions
from studio.actions.fetched_models import Installs
from studio.actions.voices.cards import DEMO_PREVIEWS
from studio.executors.visitors import account_of_visitor
from studio.http.middleware import API, DOCUMENTATION
from studio.http.origin_guard import OriginGuard
from studio.http.rights import RightsWatch
from studio.http.routes.live import live_route
from studio.languages.known import LANGUAGES
from studio.languages.translation import translator
from studio.learn.served import lesson_routes
from studio.page.body_limits import BodyLimits
from studio.page.catalogues import VisitorLanguage, catalogue_route, language_of
from studio.page.cookies import VisitorCookies
from studio.page.early_scripts import EarlyScripts
from studio.page.log_in import LogIn, LogIns, token_of_socket
from studio.page.served_files import PageFiles
from studio.page.sessions import PageSessions
from studio.page.start_mark import StartMark
from studio.page.tabs import LIVE, TABS, tabs_of
from studio.page.uploads import PageUploads, UploadNames
from studio.settings.proxies import without_proxies
from studio.settings.service import MEGABYTE, ServiceSettings, is_for_this_machine
from studio.store.accounts import Account
from studio.store.studio import Studio

if TYPE_CHECKING:
    import gradio as gr

# before importing gradio, which otherwise looks hosts up and, with Node installed, starts a second server
OFFLINE = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "GRADIO_SSR_MODE": "False",
    "HF_HUB_OFFLINE": "1",
    # numbers that it reads when it is loaded, and this page does not use: with another text in one it ends there
    "GRADIO_SERVER_PORT": "0",
    "GRADIO_NODE_NUM_PORTS": "1",
    "HF_HUB_ETAG_TIMEOUT": "9",
    "HF_HUB_DOWNLOAD_TIMEOUT": "9",
}
_DELETE_CACHE_S = (3600, 86400)  # interval, and age of what is deleted
_DELETE_DEMO_CACHE_S = (600, 3600)
_SMALL_B = 500  # and less is sent uncompressed
_LOOK_S = 0.05  # between two checks for events
_BEYOND = 4  # times the largest upload pass gradio, so that the action can refuse larger ones in a sentence
_CALLS_AT_ONCE = 8  # of one event, by different visitors
_SLOW_OF_ACCOUNT = 4  # actions in other processes, each with a thread of gradio's that waits
_WORDS = {  # of gradio's own, which lacks the first, and Italian
    "common.complete": tr("Complete"),
    "common.error": tr("Error"),
    "common.loading": tr("Loading"),
    "common.clear": tr("Clear"),
    "common.download": tr("Download"),
    "common.remove": tr("Remove"),
    "upload_text.drop_audio": tr("Drop a vocal here"),
    "upload_text.drop_file": tr("Drop files here"),
    "upload_text.click_to_upload": tr("or browse"),
    "file.uploading": tr("Uploading..."),
}
_GRADIO_CODES = {"zh-Hans": "zh-CN"}
_HEADING = "<h1>Timbre Studio</h1><p>" + tr("The same performance in another voice.") + "</p>"


@without_proxies()
def load_page() -> None:
    """Load the page's library and all its modules, as a start of the page does. Raises whatever stops that."""
    os.environ.update(OFFLINE)
    import_module("gradio")
    for found in walk_packages([str(Path(__file__).parent)], f"{__package__}."):
        import_module(found.name)


@without_proxies()
def mount_page(app: FastAPI, studio: Studio) -> FastAPI:
    """Mount the page at "/", behind the app's own routes."""
    os.environ.setdefault("GRADIO_TEMP_DIR", str(studio.settings.work / "page"))
    load_page()
    import gradio as gr
    from gradio.utils import get_upload_folder

    from studio.page.parts.element import FILES, first_scripts, head
    from studio.page.parts.theme import theme
    from studio.page.skeleton import skeleton  # its sample's module loads gradio

    is_demo = studio.service.is_demo
    log_ins = None if is_demo or is_for_this_machine(studio.service) else LogIns(studio)
    account_of = _logged_in(log_ins) if log_ins is not None else _visitor(studio) if is_demo else _local(studio)
    app.mount(FILES, GZipMiddleware(PageFiles(), minimum_size=_SMALL_B))
    app.mount(DEMO_PREVIEWS, StaticFiles(directory=DEMO_VOICES))
    app.mount(analyses.SAMPLES_SERVED, StaticFiles(directory=analyses.SAMPLES_PLACE))
    app.router.routes.extend([catalogue_route(), *lesson_routes()])
    uploads = UploadNames(Path(get_upload_folder()))
    studio = replace(studio, submit=partial(studio.submit, at_most=_SLOW_OF_ACCOUNT))
    sessions = LiveSessions(studio, app.state.cores)
    rights: RightsWatch = app.state.rights
    of_socket = None if log_ins is None else partial(token_of_socket, studio, log_ins)
    app.router.routes.append(live_route(sessions, studio.service, rights, of_socket))
    page = build_page(studio, account_of, uploads, sessions)
    page.state_session_capacity = studio.service.page_sessions
    # a request passes the last one first
    app.add_middleware(
        EarlyScripts,
        tags=first_scripts(studio.service.path_prefix),
        body=lambda headers: skeleton(language_of(headers).code, is_demo),
    )
    app.add_middleware(VisitorLanguage)
    app.add_middleware(PageUploads, names=uploads)
    app.add_middleware(PageSessions, blocks=page, service=studio.service)
    if is_demo:
        app.add_middleware(VisitorCookies)
    if log_ins is not None:
        app.add_middleware(LogIn, studio=studio, log_ins=log_ins, guarded=API | DOCUMENTATION, rights=rights)
    app.add_middleware(StartMark)
    app.add_middleware(OriginGuard, guarded=API, service=studio.service)
    app.add_middleware(BodyLimits, studio=studio)
    page.queue(default_concurrency_limit=_CALLS_AT_ONCE, api_open=False)
    page._queue.sleep_when_free = _LOOK_S  # gradio's own millisecond keeps a core 5 % busy
    return gr.mount_gradio_app(
        app,
        page,
        path="/",
        root_path=studio.service.path_prefix,
        ssr_mode=False,
        run_history=False,
        footer_links=[],  # the page has its own Settings tab
        max_file_size=_largest_file(studio.service),
        theme=theme(),
        i18n=gr.I18n(**_words()),
        head=head(studio.service.path_prefix),
    )


def build_page(
    studio: Studio,
    account_of: Callable[["gr.Request"], Account],
    uploads: UploadNames,
    sessions: LiveSessions | None = None,
) -> "gr.Blocks":
    """Build the page with all its tabs."""
    import gradio as gr

    from studio.page.parts.checked_events import CheckedEvents
    from studio.page.parts.element import element
    from studio.page.parts.page import Page

    tabs = tabs_of(studio.service.is_demo)
    kept = _DELETE_DEMO_CACHE_S if studio.service.is_demo else _DELETE_CACHE_S
    with CheckedEvents(uploads, title="Timbre Studio", delete_cache=kept) as blocks:
        heading = gr.HTML(_HEADING + (_demo_terms(studio.service) if studio.service.is_demo else ""), elem_id="heading")
        returning = element("returning", events=("returned",), elem_id="returning")
        recording = gr.State(None)
        wishes = {name.lower(): gr.State(None) for name in tabs}
        with gr.Tabs(elem_id="tabs") as choice:
            page = Page(studio, account_of, blocks, choice, wishes, heading, returning, Installs(studio), recording)
            for name in tabs:
                with gr.Tab(name, id=name.lower()) as tab:
                    given = (sessions or LiveSessions(studio),) if name == LIVE else ()
                    resolve_name(TABS[name])(page, tab, *given)
        element("help", elem_id="help")
        element("drop", elem_id="drop")
        element("address", data={"tabs": list(wishes)}, elem_id="address")
    return blocks


def _words() -> dict[str, dict[str, str]]:
    """Return gradio's words by its codes of our languages."""
    said = {code: {key: translator(code).say(text) for key, text in _WORDS.items()} for code in LANGUAGES}
    return {_GRADIO_CODES.get(code, code): words for code, words in said.items()}


def _largest_file(service: ServiceSettings) -> int | None:
    """Return the bytes that gradio lets pass."""
    return service.page_upload_mb and _BEYOND * service.page_upload_mb * MEGABYTE


def _demo_terms(service: ServiceSettings) -> str:
    terms = ntr(
        "Demo limits: recordings of up to {longest_audio_minutes}, trainings of up to {epochs_at_most} epoch; all your "
        "data is deleted after {visitor_minutes}. When you run the studio yourself, you set the limits.",
        "Demo limits: recordings of up to {longest_audio_minutes}, trainings of up to {epochs_at_most} epochs; all "
        "your data is deleted after {visitor_minutes}. When you run the studio yourself, you set the limits.",
        epochs_at_most=service.epochs_at_most,
        longest_audio_minutes=in_words(60 * service.longest_audio_minutes),
        visitor_minutes=in_words(60 * service.visitor_minutes),
    )
    return "<p>" + terms + "</p>"


def _local(studio: Studio) -> Callable[["gr.Request"], Account]:
    return lambda request: studio.local


def _visitor(studio: Studio) -> Callable[["gr.Request"], Account]:
    return lambda request: account_of_visitor(studio.database, request.state.visitor, request.session_hash or "")


def _logged_in(log_ins: LogIns) -> Callable[["gr.Request"], Account]:
    return lambda request: log_ins.account_of(request.state.visitor)
