"""Routes whose answers are held against their response models before they are sent."""

from collections.abc import Callable, Coroutine
from functools import cached_property

from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from studio.store.records.codec import plain


class Shown(JSONResponse):
    """An answer made of records."""

    def render(self, content: object) -> bytes:
        """Return the JSON of the records."""
        return super().render(plain(content))


class CheckedRoute(APIRoute):
    """A route that sends no JSON but what the service's document describes; other is a bug, and answered as one."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, object, Response]]:
        """Return the route's function, with the check behind it."""
        answered = super().get_route_handler()

        async def checked(request: Request) -> Response:
            response = await answered(request)
            if self.response_model is not None and isinstance(response, JSONResponse) and response.status_code == 200:
                self._model.validate_json(bytes(response.body))
            return response

        return checked

    @cached_property
    def _model(self) -> TypeAdapter[object]:
        return TypeAdapter(self.response_model)
