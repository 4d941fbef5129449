"""What the service answers, as far as its client relies on it: answers may have more, and none may have less."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

Share = Annotated[float, Field(ge=0, le=1)]
Documents = list[dict[str, JsonValue]]


class _Published(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class StartedTask(_Published):
    task_id: str


class CreatedVoice(_Published):
    model_id: str


class CheckedTask(_Published):
    """A conversion, with its links once it is completed."""

    status: Literal["in_progress", "completed", "failed"]
    output_audio_urls: list[str] | None = None

    @model_validator(mode="after")
    def _has_links(self) -> Self:
        if self.status == "completed" and self.output_audio_urls is None:
            raise ValueError("It is completed, and has no links.")
        return self


class Task(_Published):
    """A task in full."""

    state: str
    progress: Share = 0.0
    message: str = ""
    error: str | None = None
    error_code: str | None = None


class Tasks(_Published):
    tasks: Documents
    next_cursor: str | None = None


class Verdict(_Published):
    state: str
    sentence: str


class LabelledTake(_Published):
    starred: bool
    name: str | None = None


class Callback(_Published):
    """A callback, of which the service delivers one for each task that asks for it."""

    state: str


class Callbacks(_Published):
    callbacks: Documents
    next_cursor: str | None = None


class Secret(_Published):
    secret: str


class Voices(_Published):
    models: Documents


class Training(_Published):
    """How far a voice's training is."""

    progress: Share | None = None
    message: str = ""
    task_id: str | None = None


class Voice(_Published):
    """A voice in full."""

    state: str
    error: str | None = None
    training: Training = Training()


class TrainingStatus(_Published):
    status: Literal["training", "completed", "failed"]
    current_epoch: int


class Projects(_Published):
    projects: Documents
    next_cursor: str | None = None


class Project(_Published):
    conversions: Documents


class Link(_Published):
    url: str


class Health(_Published):
    status: str
