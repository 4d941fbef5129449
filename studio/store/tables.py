"""The tables. All times are seconds since 1970 by the database's clock; JSON columns hold plain values.

accounts --< tokens
    |------< models    a voice: pending -> training -> completed | failed
        |------< tasks     the queue and the record of all work
        |------< projects  names and timelines of recordings; the conversions of a recording are its project
        |------< presets   saved settings of conversions
        |------< deliveries  what is reported to other addresses when a task has ended
        `------< answers   answers to POST calls with an Idempotency-Key
    deadlines              when tasks are cancelled that have not ended by then
    rates                  calls of each account in the present minute
    durations              how long stages of tasks took: a histogram for each
    duties                 leader locks: which process of the installation holds each
    secrets                for signing links
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    text,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# compares as Python does, whatever the locale of the database
LONGEST_FOLDED = 600
_FOLDED = String(LONGEST_FOLDED).with_variant(String(LONGEST_FOLDED, collation="C"), "postgresql")
_RUNNING_TRAINING = text("kind = 'training' AND state = 'running'")

accounts = Table(
    "accounts",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("created_at", Float, nullable=False),
    Column("preferences", JSON),  # see studio.actions.account
)

tokens = Table(
    "tokens",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("account_id", ForeignKey("accounts.id"), nullable=False, index=True),
    Column("name", String(200), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),  # SHA-256 of the token, which is not stored
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("revoked_at", Float),
    Column("used_at", Float),  # to the hour: not every call is worth a write
)

models = Table(
    "models",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("accounts.id"), nullable=False),
    Column("id", String(64), nullable=False),  # unique within an account
    Column("name", String(200), nullable=False),
    Column("folded_name", _FOLDED, nullable=False),  # for sorting
    Column("texts", Text, nullable=False),  # searchable text, folded
    Column("state", String(16), nullable=False),  # pending, training, completed, failed
    # filters; `card` has all of it
    Column("gender", String(32)),
    Column("age", String(32)),
    Column("base_language", String(8)),
    Column("genre", String(32)),
    Column("voice_type", String(32)),
    Column("card", JSON, nullable=False),  # the published fields; after training the whole card
    Column("voice_key", String(500)),  # prefix of the voice in the storage, once it exists
    Column("dataset_key", String(500)),  # prefix of its recordings, if it has any
    Column("training_key", String(500)),  # latest checkpoint, if the storage is not a folder
    Column("epoch", Integer, nullable=False, default=0),
    Column("epochs", Integer, nullable=False, default=0),  # total requested for the finished voice
    Column("failure_told", Integer, nullable=False, default=0),  # whether a call has reported the failure or stop
    Column("data_report", JSON),
    Column("error", Text),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    UniqueConstraint("account_id", "id"),
    Index(None, "account_id", "state", "folded_name", "id"),
)

tasks = Table(
    "tasks",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("account_id", ForeignKey("accounts.id"), nullable=False),
    Column("kind", String(16), nullable=False),  # see studio.store.kinds
    Column("model_id", String(64)),  # of the account, or a demo voice's
    Column("model_name", String(200)),  # of a voice deleted since
    Column("parameters", JSON, nullable=False),
    Column("state", String(16), nullable=False),  # queued, running, completed, failed, cancelled
    Column("queue", String(16), nullable=False, server_default="conversion"),  # see studio.store.kinds
    Column("cost", Float, nullable=False, server_default="0"),  # of audio: seconds x channels x takes
    Column("turn", Float, nullable=False, server_default="0"),  # in the same unit; lower first
    Column("not_before", Float, nullable=False, default=0),  # of a retry
    Column("attempt", Integer, nullable=False, default=0),  # claims without headway
    Column("fence", BigInteger, nullable=False, default=0),  # rises with every claim; only its holder may write the row
    Column("owner", String(100)),  # the worker that holds it
    Column("lease_until", Float),
    Column("cancel_requested", Integer, nullable=False, default=0),
    Column("progress", Float, nullable=False, default=0),
    Column("message", Text, nullable=False, default=""),
    Column("result", JSON),
    Column("error", Text),
    Column("error_code", String(64)),
    Column("request_id", String(64)),
    Column("traceparent", String(64)),  # W3C Trace Context, if traced
    Column("created_at", Float, nullable=False),
    Column("started_at", Float),
    Column("finished_at", Float),
    Column("outputs_deleted_at", Float),  # retention
    Column("recording", String(64)),  # SHA-256 of what a conversion was made from: the project
    Column("texts", Text),  # searchable text, folded
    Column("take_labels", JSON),  # see studio.store.take_labels
    Index(None, "account_id", "created_at", "id"),
    Index(None, "account_id", "state", "created_at", "id"),
    Index(None, "account_id", "kind", "created_at", "id"),
    Index(None, "account_id", "model_id", "kind", "created_at", "id"),
    Index(None, "account_id", "kind", "state"),
    Index(None, "account_id", "recording", "created_at", "id"),
    Index(None, "finished_at"),
)

# only one training per voice may run, also under concurrent claims
_ONE_TRAINING = Index(
    "uq_tasks_running_training", tasks.c.account_id, tasks.c.model_id, unique=True, sqlite_where=_RUNNING_TRAINING
)


@event.listens_for(tasks, "before_create")
def _on_postgresql(table: object, connection: Connection, **_: object) -> None:
    """Give the index its condition on PostgreSQL too; the dialect, which most do not use, is loaded for it."""
    if connection.dialect.name == "postgresql":
        _ONE_TRAINING.dialect_options["postgresql"]["where"] = _RUNNING_TRAINING


Index("ix_tasks_queue", tasks.c.state, tasks.c.queue, tasks.c.turn, tasks.c.created_at, tasks.c.id)

deadlines = Table(
    "deadlines",
    METADATA,
    Column("task_id", String(32), primary_key=True),
    Column("account_id", ForeignKey("accounts.id"), nullable=False),
    Column("at", Float, nullable=False, index=True),
)

deliveries = Table(
    "deliveries",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("account_id", ForeignKey("accounts.id"), nullable=False),
    Column("task_id", String(32), nullable=False),  # which may be deleted before it
    Column("url", Text, nullable=False),
    Column("base_url", Text, nullable=False),  # of the service as its client called it
    Column("state", String(16), nullable=False),  # waiting, delivered, failed
    Column("attempts", Integer, nullable=False),
    Column("next_at", Float, nullable=False),
    Column("status", Integer),  # of the last answer
    Column("error", Text),
    Column("created_at", Float, nullable=False),
    Column("finished_at", Float),
    Index(None, "state", "next_at"),
    Index(None, "account_id", "created_at", "id"),
)

projects = Table(
    "projects",
    METADATA,
    Column("account_id", ForeignKey("accounts.id"), primary_key=True),
    Column("id", String(64), primary_key=True),  # as tasks.recording
    Column("name", String(200), nullable=False),
    Column("texts", Text, nullable=False),  # the name, folded
    Column("timeline", JSON, nullable=False),  # fields of engine.analysis.timeline.Timeline
)

presets = Table(
    "presets",
    METADATA,
    Column("account_id", ForeignKey("accounts.id"), primary_key=True),
    Column("name", String(60), primary_key=True),
    Column("conversion", JSON, nullable=False),  # preset, settings and effects of ConversionRequest
    Column("saved_at", Float, nullable=False),
)

answers = Table(
    "answers",
    METADATA,
    Column("account_id", ForeignKey("accounts.id"), primary_key=True),
    Column("call", String(100), primary_key=True),  # which of the POST calls
    Column("key", String(255), primary_key=True),
    Column("fingerprint", String(64), nullable=False),  # SHA-256 of the fields and files
    Column("answer", JSON, nullable=False),
    Column("created_at", Float, nullable=False, index=True),
)

rates = Table(
    "rates",
    METADATA,
    Column("account_id", ForeignKey("accounts.id"), primary_key=True),
    Column("what", String(16), primary_key=True),  # submissions or reads
    Column("minute", BigInteger, primary_key=True),
    Column("calls", Integer, nullable=False),
)

durations = Table(
    "durations",
    METADATA,
    Column("kind", String(16), primary_key=True),
    Column("stage", String(32), primary_key=True),
    Column("up_to_s", Float, primary_key=True),  # the bucket
    Column("number", BigInteger, nullable=False),
    Column("seconds", Float, nullable=False),  # of these together
)

leader_locks = Table(
    "duties",
    METADATA,
    Column("name", String(32), primary_key=True),
    Column("owner", String(100), nullable=False),
    Column("until", Float, nullable=False),
    Column("said", JSON, nullable=False),  # published by the holder
)

secrets = Table(
    "secrets", METADATA, Column("name", String(32), primary_key=True), Column("value", LargeBinary, nullable=False)
)
