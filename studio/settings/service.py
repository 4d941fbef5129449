"""The settings of the service with ranges and descriptions, for `serve`, the environment and the page."""

import logging
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from engine.errors import SettingsError
from engine.settings import check_settings, setting, text_setting
from engine.texts import tr
from studio.settings.machine import conversions_at_once

MEGABYTE = 1_000_000
LARGEST_LIVE_MESSAGE = 128 << 10  # bytes; a block of 320 ms at 96 kHz has 122,884
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")  # it stands in the page
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True)
class ServiceConstants:
    """What nobody has to choose, each with its reason. A demo has some of its own, and tests shorten the times."""

    # a demo keeps a visitor's files for an hour: longer than anybody listens, and what strangers leave stays little
    visitor_minutes: float = 60.0
    page_sessions: int = 300  # of 0.1 MB each, so 30 MB at most; whoever has most loses the longest unused
    page_sessions_per_address: int = 0  # any number: an office has one address; a demo counts them
    page_events_per_minute: int = 1200  # of an address where those count: a slider that is drawn sends ten a second
    action_processes: int = 2  # up to 650 MB each; imports and exports of two accounts at a time
    analysis_workers: int = 1  # for the page: pictures of a recording take seconds, and wait for no conversion
    longest_dataset_hours: float = 10.0  # a voice learns no more from longer ones, which fill memory and days
    uploads_at_once: int = 32  # each holds a thread and a file
    uploads_per_account: int = 24  # so that one account leaves places to others
    least_upload_kb_s: int = 16  # a telephone is faster; whoever is slower holds a place of others
    reads_per_minute: int = 60_000  # of an account: a thousand a second is a loop without a pause
    epochs_at_most: int = 100_000  # what a plan can hold; trainings end by themselves when nothing gets better
    waiting_at_most: int = 1_000_000  # rows of the queue; accounts have their own limits
    free_disk_mb: int = 500  # for the database and for what already runs
    link_hours: float = 24.0  # a page that was left open over night still plays
    lease_s: float = 20.0  # a worker beats every few seconds; a busy machine may swallow some beats
    attempts: int = 3  # a crash by chance happens once, one of the task's own each time
    stalled_minutes: float = 30.0  # the longest step without a report takes a few
    log_level: int = logging.INFO  # on a terminal `serve` shows faults alone, unless it is asked for more


@dataclass(frozen=True)
class ServiceSettings(ServiceConstants):
    """The settings of the service: options of `serve`, and variables of the environment. Raises SettingsError."""

    host: str = text_setting("127.0.0.1", tr("The address to listen on; 0.0.0.0 accepts other machines."))
    port: int = setting(7860, 0, 65535, tr("The port to listen on; 0 chooses a free one."))
    base_url: str = text_setting("", tr("The service's address for clients; default: http://HOST:PORT."))
    root_path: str = text_setting(
        "", tr("The path that a proxy serves this under, as /studio; default: that of base_url.")
    )
    cdn_url: str = text_setting("", tr("The start of links to audio; default: BASE_URL/files."))
    page: str = text_setting(
        "auto", tr("Serve the page: auto, on or off. Other machines need a token."), ("auto", "on", "off")
    )
    api: str = text_setting(
        "auto", tr("Serve the HTTP interface: on, off, or auto, which is on except in a demo."), ("auto", "on", "off")
    )
    demo: str = text_setting(
        "auto",
        tr("Serve a public demo, with an account per browser: auto (on a hosted Space), on or off."),
        ("auto", "on", "off"),
    )
    open_page: str = text_setting(
        "auto",
        tr("Open the page in the browser of this machine once it is served: auto (on its own terminal), on or off."),
        ("auto", "on", "off"),
    )
    database_url: str = text_setting("", tr("sqlite:///FILE or postgresql://...; default: a file in the data folder."))
    storage_url: str = text_setting("", tr("s3://BUCKET/PREFIX?endpoint=...; default: the data folder."))
    executor: str = text_setting(
        "local", tr("Where tasks run: processes here, a Ray cluster, or not here."), ("local", "ray", "none")
    )
    ray_address: str = text_setting("", tr("HOST:PORT of the Ray cluster; by default executor=ray starts one here."))
    ray_conversion_gpus: float = setting(
        0.0, 0.0, 16.0, tr("GPUs, or a share of one, that Ray reserves for a conversion.")
    )
    ray_training_gpus: float = setting(0.0, 0.0, 16.0, tr("GPUs, or a share of one, that Ray reserves for a training."))
    ray_trainings: int = setting(
        4, 0, 100_000, tr("Concurrent trainings on the Ray cluster, in addition to conversions.")
    )
    conversion_workers: int = setting(
        0,
        0,
        64,
        tr(
            "Concurrent conversions on this machine; 0: one, and more as they are needed and its cores "
            "and memory allow."
        ),
    )
    training_workers: int = setting(1, 0, 16, tr("Concurrent trainings on this machine, in addition to conversions."))
    device: str = text_setting(
        "auto", tr("The device for the networks; auto uses a GPU that has been tested."), ("auto", "cpu", "cuda", "mps")
    )
    threads: int = setting(
        0, 0, 256, tr("Processor cores that a conversion or training uses at most; 0: all, shared by those at work.")
    )
    largest_upload_mb: int = setting(100, 1, 100_000, tr("The largest request, in millions of bytes."))
    longest_audio_minutes: float = setting(60.0, 0.05, 1440.0, tr("The longest recording accepted."))
    largest_conversion_minutes: float = setting(
        300.0, 0.1, 1_000_000.0, tr("The largest conversion: minutes of the recording x its channels x takes.")
    )
    submissions_per_minute: int = setting(60, 1, 1_000_000, tr("POST calls and exports per account and minute."))
    conversions_per_account: int = setting(100, 1, 1_000_000, tr("Queued or running conversions per account."))
    trainings_per_account: int = setting(10, 1, 100_000, tr("Queued or running trainings per account."))
    models_per_account: int = setting(1000, 1, 10_000_000, tr("Voices per account."))
    keep_outputs_days: float = setting(
        0.0, 0.0, 36_500.0, tr("Recordings and results are deleted after this; 0: never.")
    )
    credentials: str = text_setting("on", tr("Sign results as synthetic with C2PA content credentials."), ("on", "off"))
    certificate: str = text_setting(
        "", tr("PEM file of a certificate to sign with, and its authorities; default: our own.")
    )
    certificate_key: str = text_setting("", tr("PEM file of the private key of `certificate`."))
    consent: str = text_setting(
        "optional",
        tr("Whether a voice must state its owner's consent to be created, imported or used."),
        ("optional", "required"),
    )
    allow_unknown_fields: str = text_setting(
        "off", tr("Ignore unknown fields of calls, and name them in the header Ignored-Fields."), ("on", "off")
    )
    callbacks: str = text_setting(
        "public",
        tr(
            "Addresses that callbacks may go to (callback_url): public ones, any (also this machine and private "
            "networks), or off."
        ),
        ("public", "any", "off"),
    )
    unconfined_models: str = text_setting(
        "refuse",
        tr(
            "What to do with RVC models where this system cannot confine them (see doctor) and others have accounts: "
            "refuse or run."
        ),
        ("refuse", "run"),
    )
    speech_url: str = text_setting(
        "",
        tr(
            "A speech service like OpenAI's, such as http://127.0.0.1:8880/v1; /v1/audio/speech converts what it "
            "speaks."
        ),
    )
    speech_voice: str = text_setting("alloy", tr("The voice that this service speaks with."))
    speech_model: str = text_setting("tts-1", tr("The model that this service speaks with."))
    speech_key: str = text_setting("", tr("The API key of this service, if it wants one."))
    grace_s: float = setting(20.0, 0.0, 3600.0, tr("Seconds a running task has to finish when the service stops."))

    def __post_init__(self) -> None:
        check_settings(self)
        if not _PATH.fullmatch(self.path_prefix):
            raise SettingsError(
                tr("root_path must be a path like /studio, not {path_prefix}.", path_prefix=self.path_prefix)
            )
        if self.speech_url:
            _refuse_no_address(self.speech_url)

    @property
    def path_prefix(self) -> str:
        """The path of the studio at the address that clients use, as "/studio"; empty for the whole address."""
        return (self.root_path or urlsplit(self.base_url).path).rstrip("/")

    @property
    def is_demo(self) -> bool:
        """Whether this is a public demo; `load_service_settings` resolves `auto`."""
        return self.demo == "on"

    @property
    def page_upload_mb(self) -> int | None:
        """The largest file that the page takes; None where the page and its files are on one machine, for which the
        disk is the limit."""
        return None if is_for_this_machine(self) and not self.is_demo else self.largest_upload_mb

    @property
    def conversions_at_once(self) -> int:
        """How many conversions run at once on this machine."""
        return self.conversion_workers or conversions_at_once(self.device)

    def raised_by(self, limit: str) -> str:
        """Return a sentence, after a space, on how to raise a limit of this name; none in a demo."""
        return (
            ""
            if self.is_demo
            else " " + tr("Its host can raise this limit with --{value}.", value=limit.replace("_", "-"))
        )

    @property
    def has_api(self) -> bool:
        return self.api == "on" or (self.api == "auto" and not self.is_demo)


# Defaults of a demo: what a small machine shared by strangers can handle.
DEMO = ServiceSettings(
    host="0.0.0.0",  # noqa: S104 - a demo is for others
    page="on",
    demo="on",
    longest_audio_minutes=1.0,
    largest_conversion_minutes=20.0,
    longest_dataset_hours=1.0,
    largest_upload_mb=25,
    page_sessions=200,
    page_sessions_per_address=40,
    uploads_at_once=8,
    uploads_per_account=2,
    conversions_per_account=12,
    trainings_per_account=1,
    epochs_at_most=10,
    waiting_at_most=40,
    models_per_account=3,
)


def _refuse_no_address(speech_url: str) -> None:
    """Raise SettingsError for an address of a speech service that nobody can call."""
    from studio.addresses import checked_address  # loads httpx

    try:
        checked_address(speech_url, private=True)
    except SettingsError as cause:
        raise SettingsError(
            tr("speech_url must be an address like http://127.0.0.1:8880/v1, not {speech_url}.", speech_url=speech_url)
        ) from cause


def is_for_this_machine(service: ServiceSettings) -> bool:
    """Whether only this machine can reach the service."""
    links_lead_here = not service.base_url or urlsplit(service.base_url).hostname in LOOPBACK
    return service.host in LOOPBACK and links_lead_here
