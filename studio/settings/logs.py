"""The service's log: one JSON object per line on stderr; what looks like a token is masked, in others' messages too."""

import logging
import re
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

_TOKEN = re.compile(
    r"ts_[A-Za-z0-9_-]{20,}|(?i:(?<=bearer )\S+)|(?i:(?<=signature=)[A-Za-z0-9_%-]+)|(?<=/live/)[^\s\"?]+"
)
BLOT = "[hidden]"
# loggers that are too verbose, or repeat what the middleware logs
_QUIET = ("python_multipart", "uvicorn.access", "httpx", "httpcore", "asyncio", "alembic")


def start_logs(stream: TextIO | None = None, level: int = logging.INFO) -> None:
    """Send this process's logs, from structlog and logging, to `stream` (stderr). Call at program start."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        hide_secrets,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(frozenset()), *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                hide_secrets,
                structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True


def hide_secrets(logger: WrappedLogger, method: str, entry: EventDict) -> EventDict:
    """Mask anything that looks like a token, the signature of a link or the ticket of a live session."""
    for name, value in entry.items():
        if isinstance(value, str):
            entry[name] = _TOKEN.sub(BLOT, value)
    return entry
