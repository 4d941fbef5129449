"""Schemas of the service's answers, for its documentation."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from engine.voices.profile import AGES, GENDERS, GENRES, VOICE_TYPES
from studio.store.kinds import LISTED
from studio.store.tasks import State

Gender = Literal[GENDERS]  # type: ignore[valid-type]
Age = Literal[AGES]  # type: ignore[valid-type]
Genre = Literal[GENRES]  # type: ignore[valid-type]
VoiceType = Literal[VOICE_TYPES]  # type: ignore[valid-type]
Url = Annotated[str, Field(json_schema_extra={"format": "uri"})]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"}, description="ISO 8601, UTC.")]

TASK_ID = "8f14e45fceea167a5a36dedd"
LINK = "http://127.0.0.1:7860/files/tasks/8f14e45fceea167a5a36dedd/1/take-1.wav?expires=1790000000&signature=0a1b2c"


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
                    "errors": [
                        {
                            "field": "likeness",
                            "message": "likeness must be a number from 0.0 to 1.0, not '2'.",
                        }
                    ],
                }
            ]
        }
    )


class ModelId(_Exact):
    """The voice that was created."""

    model_id: str = Field(examples=["mia"])


class OutputSettings(_Exact):
    """The settings of a conversion."""

    model: str = Field(examples=["kathleen"])
    # the call takes whole numbers; conversions of the page may have others
    transpose: Annotated[int | float, WithJsonSchema({"type": "integer"})] = Field(
        examples=[0], description="Semitones, positive up; with `auto` or `best`, the number chosen."
    )
    vocal_style: Literal["melodic", "rhythmic", "spoken"] = Field(description="Measured from the recording.")


class CompletedConversion(_Exact):
    """A completed conversion."""

    status: Literal["completed"]
    input_audio_url: Url = Field(examples=[LINK])
    output_audio_urls: list[Url] = Field(examples=[[LINK]])
    output_settings: OutputSettings
    vocal: Url | None = Field(None, description="Of a song: its vocal as converted. Left out otherwise.")
    backing: Url | None = Field(None, description="Of a song: what its vocal is mixed with.")
    stem: Url | None = Field(None, description="Of a song with a second singer.")
    mix: Url | None = Field(None, description="Of a song: the finished track, also in `output_audio_urls`.")


class UnfinishedConversion(_Exact):
    """A conversion without results."""

    status: Literal["in_progress", "failed"]


class Verdict(_Exact):
    """What the content credentials of a file prove. A file without any may be real or synthetic."""

    state: Literal["made_here", "made_elsewhere", "changed", "no_credentials"]
    sentence: str = Field(examples=["Made here, a synthetic recording in the voice Kathleen, and unchanged since."])
    signer: str | None = Field(description="Who signed it, by their certificate.")
    synthetic: bool | None = Field(description="Whether the signed statement says so; null if it says nothing.")
    statement: dict[str, object] | None = Field(description="Voice, settings and digests, if signed by this program.")
    tags: str | None = Field(description="What the container's tags say of this program; anyone can write them.")


class VocalRange(_Exact):
    """The notes a voice sings comfortably."""

    min: str = Field(examples=["A2"])
    max: str = Field(examples=["C5"])


class Voice(_Exact):
    """A voice in the list."""

    id: str = Field(examples=["kathleen"])
    name: str = Field(examples=["Kathleen"])
    gender: Gender | None
    age: Age | None
    description: str
    base_language: Annotated[str, Field(pattern="^[a-z]{2}$")] | None
    traits: list[str]
    genre: Genre | None
    voice_type: VoiceType | None
    vocal_range: VocalRange | None


class Voices(_Exact):
    """Usable voices."""

    models: list[Voice]
    next_cursor: str | None = Field(default=None, description="The cursor of the next page, if `limit` was given.")


class TrainingStatus(_Exact):
    """The progress of a training."""

    status: Literal["training", "completed", "failed"]
    model_id: str = Field(examples=["mia"])
    current_epoch: int = Field(ge=0, examples=[0])


class TrainingView(BaseModel):
    """A training in full."""

    current_epoch: int = Field(ge=0)
    epochs: int = Field(ge=0, description="The total requested for the voice.")
    progress: float | None = Field(ge=0, le=1)
    message: str
    task_id: str | None
    history: object = Field(description="Losses and scores so far.")


class VoiceView(Voice):
    """A voice in full."""

    model_config = ConfigDict(extra="allow")

    state: Literal["pending", "training", "completed", "failed"]
    untrained: bool = Field(description="Whether it can convert only untrained, with `untrained=true`.")
    error: str | None
    demo: bool
    estimated: dict[str, dict[str, float]] = Field(
        default_factory=dict,
        description="spoken_pitch or sung_pitch (MIDI numbers: low, median, high) where none of its recordings speaks, "
        "or sings: an estimate from the other, by which `transpose: auto` goes.",
        examples=[{"spoken_pitch": {"low": 51.06, "median": 55.76, "high": 62.06}}],
    )
    training: TrainingView
    data_report: object = Field(description="The quality of its recordings and their problems.")


class TaskView(BaseModel):
    """A task in full. Conversions also have their settings, scores and links."""

    id: str = Field(examples=[TASK_ID])
    # the others are shown in place, but can be asked for by their ids
    kind: Annotated[str, WithJsonSchema({"type": "string", "enum": [*LISTED]})]
    model: str | None
    model_name: str | None = Field(description="The name of the voice, even after its deletion.")
    state: State
    progress: float = Field(ge=0, le=1)
    message: str
    error: str | None
    error_code: str | None
    trace_id: str | None = Field(default=None, description="Of its OpenTelemetry trace, if the service sends traces.")
    attempt: int = Field(ge=0)
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    scores: list[object] | None = Field(default=None, description="For each take of a conversion.")
    untrained: bool | None = Field(None, description="For a conversion: whether the voice was untrained.")
    unsigned: str | None = Field(None, description="Why the takes carry no content credentials; null if they do.")
    warning: str | None = Field(None, description="What you should know of the recording and its notes.")
    cost_minutes: float | None = Field(None, description="For a conversion: minutes x channels x takes.")
    comp: list[object] | None = Field(None, description="Of a comp, the task and take of each phrase.")
    phrase_starts_s: list[float] | None = Field(None, description="Where each phrase of the recording begins.")
    take_labels: list[object] | None = Field(None, description="Name and star of each take.")
    name: str | None = Field(
        None, description="Of a teaching: of the new voice, whose id is `model_id` once it is there."
    )
    model_id: str | None = None
    edit_of: str | None = Field(None, description="The conversion whose take was edited")
    edit_count: int | None = Field(None, description="The number of pitch edits.")
    input_audio_url: Url | None = None
    output_audio_urls: list[Url] | None = None
    vocal: Url | None = Field(None, description="Of a song; so are `backing`, `stem` and `mix`.")
    backing: Url | None = None
    stem: Url | None = None
    mix: Url | None = None
    notes: list[str] | None = Field(None, description="Of a song: what was noticed, such as two pitches at once.")


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


class CallbackView(_Exact):
    """A report of the end of a task to an address."""

    id: str = Field(description="Also the header `webhook-id`; the same in each attempt.")
    task_id: str
    url: Url
    state: Literal["waiting", "delivered", "failed"]
    attempts: int = Field(ge=0)
    next_attempt_at: Time | None = Field(description="Not before that, and not before the task has ended.")
    status: int | None = Field(description="Of the last answer.")
    error: str | None = Field(description="Why the last attempt failed.")
    created_at: Time
    finished_at: Time | None


class Callbacks(_Exact):
    """Callbacks, the newest first."""

    callbacks: list[CallbackView]
    next_cursor: str | None


class CallbackSecret(_Exact):
    """What callbacks to this account are signed with."""

    secret: str = Field(examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])


class LabelledTake(_Exact):
    """The name and the star of a take."""

    number: int = Field(ge=1)
    name: str
    starred: bool


class Tasks(_Exact):
    """Tasks, newest first."""

    tasks: list[TaskView]
    next_cursor: str | None


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
