"""Schemas of the service's answers, for its documentation."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from studio.actions.tasks import TASK_ID, TaskView
from studio.store.records.codec import Time, Url


class _Exact(BaseModel):
    """A document with these fields only."""

    model_config = ConfigDict(extra="forbid")


class FieldProblem(_Exact):
    """A problem with one field."""

    field: str
    message: str


class Problem(BaseModel):
    """A failure as in RFC 9457, with a stable code."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[FieldProblem] | None = None
    error: object = Field(None, description="Below `/v1/`: the same as OpenAI's services write it.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "/docs#invalid",
                    "title": "Unprocessable Entity",
                    "status": 422,
                    "detail": "likeness must be a number from 0.0 to 1.0, not '2'.",
                    "code": "invalid",
                    "errors": [{"field": "likeness", "message": "likeness must be a number from 0.0 to 1.0, not '2'."}],
                }
            ]
        }
    )


class ModelId(_Exact):
    """The voice that was created."""

    model_id: str = Field(examples=["mia"])


class Verdict(_Exact):
    """What the content credentials of a file prove. A file without any may be real or synthetic."""

    state: Literal["made_here", "made_elsewhere", "changed", "no_credentials"]
    sentence: str = Field(examples=["Made here, a synthetic recording in the voice Kathleen, and unchanged since."])
    signer: str | None = Field(description="Who signed it, by their certificate.")
    synthetic: bool | None = Field(description="Whether the signed statement says so; null if it says nothing.")
    statement: dict[str, object] | None = Field(description="Voice, settings and digests, if signed by this program.")
    tags: str | None = Field(description="What the container's tags say of this program; anyone can write them.")


class TrainingStatus(_Exact):
    """The progress of a training."""

    status: Literal["training", "completed", "failed"]
    model_id: str = Field(examples=["mia"])
    current_epoch: int = Field(ge=0, examples=[0])


_WAITED = "How the task has ended, if the call waited for that (`Prefer: wait=N`). Left out otherwise."


class StartedTask(_Exact):
    """The task that was started."""

    task_id: str = Field(examples=[TASK_ID])
    task: TaskView | None = Field(None, description=_WAITED)


class CreatedVoice(ModelId):
    """The voice that was created; the task is the report on its recordings."""

    task: TaskView | None = Field(None, description=_WAITED)


class StartedTraining(TrainingStatus):
    """The progress of a training."""

    task: TaskView | None = Field(None, description=_WAITED)


class CallbackSecret(_Exact):
    """What callbacks to this account are signed with."""

    secret: str = Field(examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])


class ProjectTimeline(_Exact):
    """The tempo of a song, and where in it the recording begins."""

    tempo_bpm: float = Field(ge=0, le=400, description="0: not known.")
    beats_per_bar: int = Field(ge=1, le=32)
    start_s: float = Field(ge=0, le=86_400)


class ProjectView(_Exact):
    """A recording with everything that was made of it."""

    id: str
    name: str
    file_name: str
    timeline: ProjectTimeline
    voices: list[str] = Field(description="The names of the voices that sing in it.")
    created_at: Time
    changed_at: Time
    conversions: list[TaskView]


class Projects(_Exact):
    """Projects, the last changed first."""

    projects: list[ProjectView]
    next_cursor: str | None


class ProjectExport(_Exact):
    """A project as a zip."""

    url: Url
    name: str = Field(description="For the file.")


class Health(_Exact):
    """The service is usable."""

    status: Literal["ok"]
    workers: int | None = Field(description="Worker processes of this server; null if it has none.")


class OpenaiModel(_Exact):
    """A voice, as OpenAI's services list models."""

    id: str = Field(examples=["kathleen"])
    object: Literal["model"]
    created: int
    owned_by: str


class OpenaiModels(_Exact):
    """Usable voices, as OpenAI's services list models."""

    object: Literal["list"]
    data: list[OpenaiModel]


class NamedVoice(_Exact):
    """A voice in a list to choose from."""

    id: str = Field(examples=["kathleen"])
    name: str = Field(examples=["Kathleen"])


class NamedVoices(_Exact):
    """Usable voices, to choose from."""

    voices: list[NamedVoice]
