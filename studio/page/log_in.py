"""The log-in of a page that others can reach: with an account and one of its tokens.

Whoever is not logged in gets the form and nothing else. A log-in ends with its token: each request, and each event of a
page that is open, looks the token up again.
"""

import secrets
from collections.abc import Collection
from html import escape
from pathlib import Path

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.errors import EngineError
from engine.texts import tr
from studio.errors import Unauthorised
from studio.http.bodies import BodyLimits
from studio.http.errors import problem_of
from studio.http.origin_guard import is_https, with_scheme_of_http
from studio.http.rights import RightsWatch
from studio.http.uploads import INCOMING, UploadPlace, received_form
from studio.languages.translation import translator
from studio.page.catalogues import language_of
from studio.page.cookies import new_cookie, read_cookie
from studio.store.accounts import Account
from studio.store.reading import read_soon
from studio.store.studio import Studio
from studio.store.tokens import Holder, account_of_token, digest_of, holder_of_digest

FORM = Path(__file__).parent / "static" / "log-in.html"
# the program of the page, without anybody's data; a browser asks for its manifest without cookies
OPEN = frozenset(
    {
        "page-files",
        "page-languages",
        "static",
        "assets",
        "svelte",
        "theme.css",
        "favicon.ico",
        "manifest.json",
        "robots.txt",
    }
)
_TEXTS = {  # by their places in the form
    "WHAT": tr("Log in with your account and one of its tokens."),
    "ACCOUNT": tr("Account"),
    "TOKEN": tr("Token"),
    "LOG-IN": tr("Log in"),
}
_MOST_OF_ACCOUNT = 100  # log-ins; its oldest ends first, and nobody else's
_WRONG = tr("There is no such account with this token.")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; base-uri 'none'"
_ENDED = tr("You are not logged in, or the token you logged in with has expired or been revoked. Log in again.")


class LogIns:
    """The log-ins of this process: which token each cookie stands for."""

    def __init__(self, studio: Studio) -> None:
        self._database = studio.database
        self._open: dict[str, tuple[str, str]] = {}  # cookie: its account and the digest of its token, oldest first

    def open(self, name: str, token: str) -> str | None:
        """Return the cookie of a new log-in; None if the token is not a valid one of this account."""
        account = account_of_token(self._database, token)
        if account is None or account.name != name:
            return None
        cookie = secrets.token_urlsafe(32)
        self._open[cookie] = account.id, digest_of(token)
        of_account = [one for one, (owner, _) in list(self._open.items()) if owner == account.id]
        for oldest in of_account[:-_MOST_OF_ACCOUNT]:
            self.close(oldest)
        return cookie

    def account_of(self, cookie: str) -> Account:
        """Return the account of a log-in. Raises Unauthorised if there is none, or its token is no longer valid."""
        return self.holder_of(cookie).account

    def holder_of(self, cookie: str) -> Holder:
        """Return the same with the token. Raises Unauthorised."""
        _, digest = self._open.get(cookie, ("", ""))
        holder = holder_of_digest(self._database, digest) if digest else None
        if holder is None:
            self.close(cookie)
            raise Unauthorised(_ENDED, "log_in")
        return holder

    def close(self, cookie: str) -> None:
        """End a log-in."""
        self._open.pop(cookie, None)


class LogIn:
    """Middleware that lets nobody pass without a log-in, except to the paths that are `guarded` otherwise.

    What goes on, such as the events of a page, is cut off when its token ends.
    """

    def __init__(
        self, app: ASGIApp, studio: Studio, log_ins: LogIns, guarded: Collection[str], rights: RightsWatch
    ) -> None:
        self._app, self._studio, self._log_ins, self._rights = app, studio, log_ins, rights
        self._passed_on = OPEN | frozenset(guarded)
        limits = BodyLimits(largest_file=0)
        self._place = UploadPlace(studio.settings.work / INCOMING, limits, CapacityLimiter(1))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or answer with the form."""
        if scope["type"] != "http" or scope["path"].partition("/")[2].partition("/")[0] in self._passed_on:
            await self._app(scope, receive, send)
            return
        secure, name, cookie = _cookie_in(scope, self._studio)
        attributes = "SameSite=Lax; Secure" if secure else "SameSite=Lax"
        answer: Response | None = None
        holder: Holder | None = None
        try:
            if (scope["path"], scope["method"]) == ("/login", "POST"):
                answer = await self._log_in(Request(scope, receive), name, attributes)
            elif (scope["path"], scope["method"]) == ("/logout", "POST"):
                self._log_ins.close(cookie)
                answer = Response(headers={"Set-Cookie": new_cookie(name, "", f"{attributes}; Max-Age=0")})
            else:
                holder = await read_soon(self._studio.database, self._log_ins.holder_of, cookie)
                scope.setdefault("state", {})["visitor"] = cookie
        except Unauthorised as error:
            is_page = scope["path"] in ("/", "/login") and scope["method"] in ("GET", "HEAD")
            answer = _page(Headers(scope=scope)) if is_page else problem_of(error).response()
        except (EngineError, HTTPException) as error:
            answer = problem_of(error).response()
        if answer is not None or holder is None:
            await (answer or self._app)(scope, receive, send)
            return
        with self._rights.granted(holder.token_id) as right, right.while_it_lasts():
            await self._app(scope, receive, send)

    async def _log_in(self, request: Request, name: str, attributes: str) -> Response:
        content_type = request.headers.get("content-type", "")
        async with received_form(request.stream(), content_type, self._place) as form:
            account, token = (form.fields.get(field, "").strip() for field in ("username", "password"))
        cookie = await to_thread.run_sync(self._log_ins.open, account, token)
        if cookie is None:
            return _page(request.headers, _WRONG, 401)
        return RedirectResponse("./", 303, {"Set-Cookie": new_cookie(name, cookie, attributes)})


def token_of_socket(studio: Studio, log_ins: LogIns, scope: Scope, account: Account) -> str:
    """Return the id of the token of a page's log-in that opens a WebSocket. Raises Unauthorised for another account."""
    holder = log_ins.holder_of(_cookie_in(with_scheme_of_http(scope), studio)[2])
    if holder.account != account:
        raise Unauthorised(_ENDED, "log_in")
    return holder.token_id


def _cookie_in(scope: Scope, studio: Studio) -> tuple[bool, str, str]:
    """Return whether a request came by TLS, the name of the cookie of its log-in, and the cookie."""
    secure = is_https(scope, studio.service.base_url)
    name = "__Host-timbre_log_in" if secure else "timbre_log_in"  # no sibling sub-domain can set the former
    return secure, name, read_cookie(Headers(scope=scope), name)


def _page(asked: Headers, message: str = "", status: int = 200) -> HTMLResponse:
    """Return the form in the language of a request, with a message."""
    language = language_of(asked)
    say = translator(language.code).say
    texts = {"MESSAGE": message, **_TEXTS}
    form = FORM.read_text(encoding="utf-8").replace('lang="en"', f'lang="{language.code}" dir="{language.direction}"')
    for name, text in texts.items():
        form = form.replace(f"<!--{name}-->", escape(say(text)))
    return HTMLResponse(form, status, {"Cache-Control": "no-store", "Content-Security-Policy": _POLICY})
