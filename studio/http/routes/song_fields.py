"""Songs as fields of a form: their documentation, and the request that they make."""

from engine.songs.alignment import LARGEST_GIVEN_S
from engine.songs.mixing import SILENT_DB
from engine.songs.parts import KEEP, read_parts
from studio.actions.calls import LONGEST_PARTS
from studio.actions.conversions.songs import LANES, SentFile, SongRequest
from studio.http.routes.documentation import Described, file_field
from studio.http.routes.fields import Fields

FILES = ("backing", "stem")
_LOUDEST_DB = 12.0
_PARTS = {"type": "string", "maxLength": LONGEST_PARTS}
SONG_FIELDS: Described = {
    "separate": (
        {"type": "boolean", "default": False}
        | {"description": "`audio` is a whole song: its vocal is separated, converted and mixed with what is left."}
    ),
    "backing": file_field("The instrumental to mix with; `audio` is the vocal, or with `separate` the song."),
    "offset": (
        {"type": "number", "minimum": -LARGEST_GIVEN_S, "maximum": LARGEST_GIVEN_S}
        | {"description": "Seconds by which `audio` begins later than the backing; found by correlation if left out."}
    ),
    "parts": _PARTS
    | {
        "description": "The voice of each region: `1:42 koguchi, 2:10 keep`. Until the first one it is `model`.",
        "examples": ["1:42 koguchi"],
    },
    "stem": file_field("A second singer's recording, as long as `audio` or its vocal."),
    "stem_parts": _PARTS | {"default": KEEP, "description": "The voice of `stem`, or several; keep leaves it as is."},
    **{
        f"{lane}_db": (
            {"type": "number", "minimum": SILENT_DB, "maximum": _LOUDEST_DB, "default": 0}
            | {"description": f"The fader of the {lane} in the mix."}
        )
        for lane in LANES
    },
}


def parse_song(fields: Fields, model: str) -> SongRequest | None:
    """Return the song that a form asks for, None if it asks for a plain conversion. Raises SettingsError, Invalid."""
    if not any(fields.has(name) for name in SONG_FIELDS if name not in FILES) and not any(map(fields.sent, FILES)):
        return None
    separate = fields.flag("separate", False)
    files = {name: SentFile(sent.path, sent.name) for name in FILES if (sent := fields.maybe_file(name))}
    levels = {lane: fields.number(f"{lane}_db", SILENT_DB, _LOUDEST_DB) for lane in LANES}
    offset_s = fields.number("offset", -LARGEST_GIVEN_S, LARGEST_GIVEN_S)
    parts = fields.maybe_text("parts", LONGEST_PARTS) or model
    stem_parts = fields.maybe_text("stem_parts", LONGEST_PARTS) or KEEP
    fields.check()
    if not (separate or files or fields.has("parts") or offset_s is not None or any(levels.values())):
        return None  # separate=false, and all else as it is without
    regions, moved = read_parts(parts, model), {lane: level for lane, level in levels.items() if level}
    stem, of_stem = files.get("stem"), read_parts(stem_parts)
    return SongRequest(regions, separate, files.get("backing"), stem, of_stem, offset_s, moved)
