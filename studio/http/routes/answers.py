"""What the document of the service says of a call, as FastAPI's decorators take it."""

from typing_extensions import TypedDict

from studio.http.routes.documentation import Extra, Responses


class _Operation(TypedDict):
    operation_id: str
    summary: str
    response_model: object
    responses: Responses
    openapi_extra: Extra


def described(name: str, summary: str, answer: object, responses: Responses, extra: Extra | None = None) -> _Operation:
    """Describe a call. name: for programs; answer: the model of what it returns; extra: of its parameters and body."""
    return _Operation(
        operation_id=name, summary=summary, response_model=answer, responses=responses, openapi_extra=extra or {}
    )
