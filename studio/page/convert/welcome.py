"""What lies in the timeline while there is no recording: a sample, which two demo voices sing already.

Their previews are that sample, converted when they were made, and its melody is kept beside this module, so that
nothing has to be rendered or analysed for it.
"""

import json
from pathlib import Path
from typing import Any

from studio.actions import analyses
from studio.actions.voices.cards import avatar_of, voice_details
from studio.errors import NotFound
from studio.page.convert.instrument import brought
from studio.page.parts.page import Visit

VOICES = ("safiye", "goekhan")
SAMPLE = analyses.SAMPLES[0]  # which their previews were made of
MELODY = Path(__file__).with_name("welcome.json")  # made by tests/welcome.py


def welcomed(visit: Visit, has_recording: bool) -> str:
    """Return the value of a `part` that shows the sample to whoever has no recording here, and nothing to others."""
    if has_recording:
        return brought("welcome", None)
    try:
        melody = json.loads(MELODY.read_text(encoding="utf-8"))
        tracks = [_track(visit, model, melody) for model in VOICES]
    except NotFound:  # an installation without these voices
        return brought("welcome", None)
    before = f"{visit.studio.base_url('')}{analyses.SAMPLES_SERVED}/{SAMPLE.path}"
    first = {"before": before, "waveform": melody["waveforms"]["before"]}
    return brought("welcome", {"id": "welcome", **first, "tracks": tracks, "roll": melody["roll"]})


def _track(visit: Visit, model: str, melody: dict[str, Any]) -> dict[str, Any]:
    voice = visit.do(voice_details, model, "", visit.now_s)
    name = voice.name
    drawn = {"voice": model, "transpose": melody["transposed"][model], "waveform": melody["waveforms"][model]}
    return {"label": name, "names": [name], "avatar": avatar_of(name), "url": voice.preview_url, **drawn}
