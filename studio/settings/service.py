"""The settings of the service, their ranges, and what each is for: `serve`, the environment and the page use these."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from engine.settings import check_settings, setting, text_setting

MEGABYTE = 1_000_000


LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True)
class ServiceSettings:
    """How the service runs. SettingsError, naming the setting, for a value outside its range.

    Each is an option of `serve` (--longest-audio-minutes) and a variable of the environment
    (TIMBRE_STUDIO_LONGEST_AUDIO_MINUTES); the option wins.
    """

    host: str = text_setting("127.0.0.1", "The address to listen at; 0.0.0.0 lets other machines in.")
    port: int = setting(7860, 0, 65535, "The port to listen at; 0 takes a free one.")
    base_url: str = text_setting("", "How clients reach the service; left out, http://HOST:PORT.")
    cdn_url: str = text_setting("", "Where links to audio begin; left out, BASE_URL/files.")
    page: str = text_setting("auto", "Serve the page: auto, on or off. Beyond this machine it asks for a token.",
                             ("auto", "on", "off"))  # fmt: skip
    api: str = text_setting("auto", "Serve the HTTP interface: on, off, or auto, which is on except in a demo.",
                            ("auto", "on", "off"))  # fmt: skip
    demo: str = text_setting("auto", "Serve a public demo, where every browser is a visitor: auto (on a hosted Space), "
                             "on or off.", ("auto", "on", "off"))  # fmt: skip
    visitor_minutes: float = setting(60.0, 0.05, 100_000.0, "How long a demo keeps what a visitor has made.")
    database_url: str = text_setting("", "sqlite:///FILE or postgresql://...; left out, a file in the data folder.")
    storage_url: str = text_setting("", "s3://BUCKET/PREFIX?endpoint=...; left out, the data folder.")
    executor: str = text_setting("local", "What does the work: processes of this machine, a Ray cluster, or none here.",
                                 ("local", "ray", "none"))  # fmt: skip
    ray_address: str = text_setting("", "HOST:PORT of the Ray cluster; left out, executor=ray starts one here.")
    ray_conversion_cpus: float = setting(1.0, 0.0, 256.0, "Processor cores that Ray reserves for a conversion.")
    ray_conversion_gpus: float = setting(0.0, 0.0, 16.0, "GPUs, or a share of one, that Ray reserves for a conversion.")
    ray_training_cpus: float = setting(1.0, 0.0, 256.0, "Processor cores that Ray reserves for a training.")
    ray_training_gpus: float = setting(0.0, 0.0, 16.0, "GPUs, or a share of one, that Ray reserves for a training.")
    ray_trainings: int = setting(4, 0, 100_000, "Trainings at a time on the Ray cluster, beside the conversions.")
    conversion_workers: int = setting(1, 1, 64, "Conversions at a time on this machine.")
    training_workers: int = setting(1, 0, 16, "Trainings at a time on this machine, beside the conversions.")
    device: str = text_setting("auto", "What the networks compute on; auto takes a GPU that has shown that it works.",
                               ("auto", "cpu", "cuda", "mps"))  # fmt: skip
    analysis_workers: int = setting(1, 0, 16, "Recordings that are looked at for the page at a time.")
    threads: int = setting(0, 0, 256, "Processor threads of each worker; 0 shares the cores among them.")
    largest_upload_mb: int = setting(100, 1, 100_000, "The largest request, in millions of bytes.")
    longest_audio_minutes: float = setting(60.0, 0.05, 1440.0, "The longest recording that is converted.")
    uploads_at_once: int = setting(32, 1, 10_000, "Uploads that are taken at a time, of all accounts.")
    uploads_per_account: int = setting(24, 1, 10_000, "Uploads that are taken at a time of one account.")
    submissions_per_minute: int = setting(60, 1, 1_000_000, "POST calls of an account in a minute.")
    reads_per_minute: int = setting(60_000, 1, 100_000_000, "Other calls of an account in a minute.")
    conversions_per_account: int = setting(100, 1, 1_000_000, "Conversions of an account that wait or run.")
    trainings_per_account: int = setting(10, 1, 100_000, "Trainings of an account that wait or run.")
    epochs_at_most: int = setting(100_000, 1, 100_000, "The most epochs a voice may be trained for.")
    waiting_at_most: int = setting(1_000_000, 1, 100_000_000, "Conversions, and trainings, of all that wait or run.")
    models_per_account: int = setting(1000, 1, 10_000_000, "Voices of an account.")
    free_disk_mb: int = setting(500, 0, 10_000_000, "Room on the disk that is never filled, in millions of bytes.")
    keep_outputs_days: float = setting(0.0, 0.0, 36_500.0, "Recordings and results are deleted after this; 0 keeps.")
    link_hours: float = setting(24.0, 0.01, 8760.0, "How long a link to audio holds, at least.")
    lease_s: float = setting(20.0, 1.0, 3600.0, "Seconds until the task of a silent worker is given to another.")
    attempts: int = setting(3, 1, 100, "How often a task is tried whose worker is lost.")
    stalled_minutes: float = setting(
        30.0, 0.02, 10_000.0, "A worker that says nothing of its task for so long is ended; another tries."
    )
    grace_s: float = setting(20.0, 0.0, 3600.0, "What a running task has to finish in when the service ends.")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def is_demo(self) -> bool:
        """Whether this is a public demo; `load_service_settings` says whether `auto` means one."""
        return self.demo == "on"

    @property
    def has_api(self) -> bool:
        """Whether the HTTP interface is served."""
        return self.api == "on" or (self.api == "auto" and not self.is_demo)


# Of a demo, where nothing else is said: what a small machine that strangers share can do for all of them.
DEMO = ServiceSettings(
    host="0.0.0.0",
    page="on",
    demo="on",
    longest_audio_minutes=1.0,
    largest_upload_mb=25,
    uploads_at_once=8,
    uploads_per_account=2,
    conversions_per_account=12,
    trainings_per_account=1,
    epochs_at_most=10,
    waiting_at_most=40,
    models_per_account=3,
)


def is_for_this_machine(service: ServiceSettings) -> bool:
    """Whether only this machine can reach the service."""
    told = not service.base_url or urlsplit(service.base_url).hostname in LOOPBACK
    return service.host in LOOPBACK and told
