"""`mcp`: the studio as tools of an assistant."""

from dataclasses import replace
from importlib.util import find_spec

from engine.errors import EngineError
from engine.installed import add_extra
from engine.texts import tr
from studio.commands.failures import in_one_sentence


@in_one_sentence
def mcp() -> None:
    """Offer the voices and conversions to an assistant, as tools of the Model Context Protocol on stdin and stdout.

    The assistant starts it by itself. It needs no server, but it needs the extra `mcp`: pip install
    'timbre-studio[mcp]'.
    """
    from studio.commands.in_process import local_studio

    if find_spec("mcp") is None:
        raise EngineError(tr("Assistants need another package: {install}.", install=add_extra("mcp")))
    from studio.mcp_server import build_server
    from studio.server import executor_of
    from studio.settings.logs import start_logs
    from studio.tracing import start_tracing

    start_logs()
    start_tracing()
    with local_studio() as studio:
        executor = executor_of(studio.settings, studio.service)
        if executor is None:
            build_server(studio).run()
            return
        started: list[bool] = []

        def wake() -> None:
            if not started:
                started.append(True)
                executor.start()
            executor.wake()

        try:
            build_server(replace(studio, wake=wake)).run()
        finally:
            executor.stop()
