"""Export and import voices as packages."""

import struct
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import chain, count
from pathlib import Path

from sqlalchemy import Connection

from engine.errors import VoiceError
from engine.files import named, shown_name
from engine.spelling import composed
from engine.texts import tr
from engine.voices.card import CARD_FILE, WEIGHTS_FILE, VoiceCard, card_text, load_card, new_identifier
from engine.voices.card_rules import RVC
from engine.voices.package import export_voice, import_voice, packaged_card
from engine.voices.profile import profile_as_json, read_profile
from studio.actions.account import named_file
from studio.actions.recordings import refuse_without_consent
from studio.actions.rvc_models import INDEX, MODELS, RvcFiles, is_rvc_model, refuse_unconfined, unpack_rvc
from studio.actions.trainings.checkpoints import replace_voice_files
from studio.actions.uploads import link_or_copy, scratch_folder, seems_zip
from studio.errors import NotReadable, StudioError, WrongState
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import (
    COMPLETED,
    PACKAGES,
    VOICES,
    add_model,
    all_models,
    find_model,
    refuse_too_many,
    set_keys,
)
from studio.store.idempotency import Idempotency, answered, run_idempotently
from studio.store.idempotent_answers import Answer
from studio.store.records.codec import Record
from studio.store.studio import Cost, Studio, costs
from studio.store.voice_folders import arriving, voice_folder

_OTHER_MODELS = (".pt", ".ckpt", ".safetensors")  # of so-vits-svc and others


def package_card(package: Path) -> VoiceCard:
    """Return the card of the voice in a package.

    Raises NotReadable if it is no package, ArchiveError and VoiceError if it is not a complete voice.
    """
    _refuse_other_files(package)
    return packaged_card(package)


def packaged_name(package: Path) -> str:
    """Return the name of the voice in a package, or of the file of a model of RVC. Raises what `package_card` does."""
    return package.stem if is_rvc_model(package) else package_card(package).name


@dataclass(frozen=True, kw_only=True)
class Namesake(Record):
    """A voice of the same name."""

    id: str
    demo: bool


@costs(Cost.APART)
def namesakes(studio: Studio, account: Account, package: Path) -> tuple[str, list[Namesake]]:
    """Return the name of the voice in a package, and `id` and `demo` of the voices with this name.

    Raises what `packaged_name` raises.
    """
    packaged = packaged_name(package)
    return packaged, voices_named(studio, account, packaged)


def voices_named(studio: Studio, account: Account, name: str) -> list[Namesake]:
    """Return `id` and `demo` of the voices with this name."""
    known = all_models(studio.database, account)
    return [Namesake(id=one.id, demo=one.is_demo) for one in known if _same(one.name) == _same(name)]


def free_name(studio: Studio, account: Account, name: str) -> str:
    """Return the name, numbered if a voice already has it: "Mia 2"."""
    taken = {_same(one.name) for one in all_models(studio.database, account)}
    numbered = (f"{name} {number}" for number in count(2))
    return next(free for free in chain([name], numbered) if _same(free) not in taken)


def imported_before(studio: Studio, account: Account, package: Path) -> str | None:
    """Return the id of a voice that differs in nothing from that in a package: name, profile, consent and weights.

    Raises what `package_card` raises.
    """
    card = package_card(package)
    with zipfile.ZipFile(package) as opened:  # which the look at its card has checked
        weights = opened.read(WEIGHTS_FILE) if WEIGHTS_FILE in opened.namelist() else b""
    for one in voices_named(studio, account, card.name):
        with suppress(StudioError, VoiceError, OSError):  # it is untrained, or was deleted meanwhile
            folder = voice_folder(studio.storage, find_model(studio.database, account, one.id))
            if _bare(load_card(folder)) == _bare(card) and (folder / WEIGHTS_FILE).read_bytes() == weights:
                return one.id
    return None


def _bare(card: VoiceCard) -> VoiceCard:
    """Return a card without what an installation adds: the id, and the seal on the consent."""
    return replace(card, id="x", consent_seal={})


def _same(name: str) -> str:
    """Return what two names have in common if people would take them for one."""
    return composed(name.casefold())


@costs(Cost.APART)
def replace_model(studio: Studio, account: Account, model_id: str, package: Path) -> None:
    """Replace the model and the profile of a voice by those of a package; its id, recordings and training stay.

    Raises NotFound, WrongState for a demo voice or during training, and what `package_card` raises.
    """
    model = find_model(studio.database, account, model_id)
    if model.is_demo:
        raise WrongState(tr("{name} is a demo voice and cannot be replaced.", name=model.name), "demo_voice")
    if is_rvc_model(package):
        raise WrongState(
            tr("An RVC model cannot replace a voice: import it under a name of its own."), "imported_voice"
        )
    with scratch_folder(studio) as scratch:
        card = _unpacked(studio, package, scratch)
        replace_voice_files(studio, account, model, scratch / card.id, card)


@costs(Cost.APART)
def import_model(
    studio: Studio,
    account: Account,
    package: Path,
    idempotency: Idempotency | None = None,
    voice_name: str | None = None,
    files: RvcFiles | None = None,
    stated: Mapping[str, object] | None = None,
) -> str:
    """Import a voice package, or a model of RVC, and return the voice's id.

    voice_name: instead of the name in the package. files: what belongs to a model of RVC. stated: fields of the profile
    of such a model, as its file has none; a package says them itself. Raises what `package_card` raises, ProfileError,
    WrongState if it states no consent where that is required, TooMany, DiskFull.
    """
    if known := answered(studio, account, idempotency):
        return str(known["model_id"])
    with studio.database.read() as connection:  # before it is unpacked
        refuse_too_many(connection, account.id, studio.service)
    with scratch_folder(studio) as scratch:
        card = _unpacked(studio, package, scratch, files, stated)
        folder = scratch / card.id
        if voice_name is not None:
            card = replace(card, name=read_profile({"name": voice_name}).name)
        with arriving(studio.storage, account, VOICES, folder) as arrive:

            def act(connection: Connection) -> Answer:
                refuse_too_many(connection, account.id, studio.service)
                model = add_model(connection, studio.storage, account, asdict(card), COMPLETED)
                key = arrive(model.id)
                set_keys(connection, model, voice_key=key)
                studio.storage.put_bytes(card_text(replace(card, id=model.id)).encode(), f"{key}/{CARD_FILE}")
                return {"model_id": model.id}

            answer, _ = run_idempotently(studio, account, idempotency, act)
    return str(answer["model_id"])


@costs(Cost.APART)
def import_upload(
    studio: Studio, account: Account, upload: Path, file_name: str, idempotency: Idempotency | None, files: RvcFiles
) -> str:
    """Import an upload, whose own name says nothing, by the name that it had. Raises as `import_model`."""
    stem, suffix = Path(file_name).stem, Path(file_name).suffix.lower()
    if not is_rvc_model(Path(file_name)):
        return import_model(studio, account, named(upload, file_name), idempotency, files=files)
    with scratch_folder(studio) as scratch:
        path = scratch / (new_identifier(stem) + suffix)
        link_or_copy(upload, path)
        name = free_name(studio, account, stem)
        return import_model(studio, account, named(path, file_name), idempotency, name, files)


def _unpacked(
    studio: Studio,
    package: Path,
    scratch: Path,
    files: RvcFiles | None = None,
    stated: Mapping[str, object] | None = None,
) -> VoiceCard:
    """Unpack a voice into a folder of its id in `scratch`, and return its card. Raises what `package_card` raises."""
    if is_rvc_model(package):
        refuse_unconfined(studio)
        card = _stated(unpack_rvc(package, scratch, files or RvcFiles()), stated or {})
        refuse_without_consent(studio, card.consent)
        return card
    if files not in (None, RvcFiles()):
        text = tr("An index and a speaker belong to an RVC model: leave them out when you import a voice package.")
        raise NotReadable(text, "wrong_index")
    from engine.conversion.preview import refuse_senseless  # loads torch
    from engine.voices.voice import load_voice

    _refuse_other_files(package)
    card = import_voice(package, scratch)
    refuse_without_consent(studio, card.consent)
    refuse_senseless(load_voice(card.id, scratch))
    return card


def _stated(card: VoiceCard, stated: Mapping[str, object]) -> VoiceCard:
    """Return a card with these fields of a profile. Raises ProfileError."""
    given = read_profile({"name": card.name, **stated})
    return replace(card, **{name: getattr(given, name) for name in profile_as_json(given) if name in stated})


def _refuse_other_files(package: Path) -> None:
    name = f'"{shown_name(package)}"'
    if package.suffix.lower() == INDEX:
        text = tr("{name} is the index of an RVC model: import it together with the model's .pth.", name=name)
        raise NotReadable(text, "index_alone")
    if package.suffix.lower() in _OTHER_MODELS:
        text = tr(
            "{name} is a model of another program. The studio imports voices it exports (.voice.zip) and RVC models, "
            "named .pth or .onnx. If you have the recordings behind this model, create a new voice from them.",
            name=name,
        )
        raise NotReadable(text, "foreign_model")
    if not seems_zip(package):
        text = tr("{name} is not a voice package: export a voice, and import that file.", name=name)
        raise NotReadable(text, "not_a_zip")
    _refuse_packed_models(package, name)


def _refuse_packed_models(package: Path, name: str) -> None:
    """Name models of RVC in a zip, as they are shared, and those renamed to one."""
    try:
        with zipfile.ZipFile(package) as archive:
            suffixes = {Path(one).suffix.lower() for one in archive.namelist()}
    except (zipfile.BadZipFile, struct.error, EOFError, OSError, ValueError, RuntimeError, IndexError):
        return  # what is wrong with it is said later
    if suffixes & set(MODELS):
        text = tr("{name} holds an RVC model: unpack it, and import its .pth together with its .index.", name=name)
        raise NotReadable(text, "packed_model")
    if ".pkl" in suffixes:
        text = tr(
            "{name} is a model, not a voice package: if it is an RVC model, rename it so that it ends in .pth.",
            name=name,
        )
        raise NotReadable(text, "foreign_model")


@costs(Cost.APART)
def package_link(studio: Studio, account: Account, model_id: str, base_url: str, now_s: float) -> dict[str, str]:
    """Export a voice; return the `name` of the package and a `url` to fetch it from.

    It is kept until the next export of this voice, or its deletion. Raises as `export_model` does.
    """
    with scratch_folder(studio) as scratch:
        made = scratch / f"{model_id}.voice.zip"
        export_model(studio, account, model_id, made)
        key = f"{account_prefix(account)}{PACKAGES}/{model_id}/{made.name}"
        studio.storage.put_file(made, key)
    name = named_file(find_model(studio.database, account, model_id).name, "voice.zip")
    # so that browsers do not reuse an earlier package from their cache
    return {"name": name, "url": f"{studio.link(key, base_url, now_s)}&made={now_s:.0f}"}


def export_networks(studio: Studio, account: Account, model_id: str, target: Path) -> Path:
    """Write a voice as ONNX, with a reference host, into the new folder `target`, and return it.

    Raises NotFound, WrongState for an imported voice, VoiceError.
    """
    from engine.conversion.onnx_export import export_onnx  # loads torch
    from engine.voices.voice import load_voice

    model = find_model(studio.database, account, model_id)
    if model.card.kind == RVC:
        raise WrongState(
            tr("{name} is an imported RVC model: share the file it came from.", name=model.name), "imported_voice"
        )
    return export_onnx(load_voice(voice_folder(studio.storage, model)), target)


@costs(Cost.APART)
def export_model(studio: Studio, account: Account, model_id: str, target: Path) -> Path:
    """Write a voice as a package to `target`, a file or a folder, and return the file.

    Raises NotFound, WrongState for an untrained voice, VoiceError, DiskFull.
    """
    model = find_model(studio.database, account, model_id)
    if model.card.kind == RVC:
        raise WrongState(
            tr("{name} is an imported RVC model: share the file it came from.", name=model.name), "imported_voice"
        )
    recorded_by = studio.installation if model.dataset_key is not None else None
    return export_voice(voice_folder(studio.storage, model), target, recorded_by)
