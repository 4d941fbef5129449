"""The consent of the person whose voice it is: who recorded it, and whether a voice may be used without."""

from collections.abc import Mapping
from typing import Any

from engine.provenance.consent import consent_recorded_by
from engine.texts import tr
from studio.errors import WrongState
from studio.store.catalogue import Model
from studio.store.studio import Studio


def refuse_without_consent(studio: Studio, consent: Mapping[str, str] | None) -> None:
    """Raise WrongState if a voice states no consent and the settings require one."""
    if studio.service.consent == "required" and not (consent or {}).get("statement", "").strip():
        text = tr("This voice states no consent of its owner, which is required here: add it to its profile first.")
        raise WrongState(text, "no_consent")


def consent_origin(studio: Studio, model: Model) -> str:
    """Return in a few words who recorded a voice's consent, and whether it is signed."""
    consent, seal = model.card.get("consent") or {}, model.card.get("consent_seal") or {}
    if consent and not seal and (model.dataset_key is not None or model.is_demo):
        return tr("comes with the program") if model.is_demo else tr("recorded here")
    return consent_recorded_by(consent, seal, studio.installation)


def consent_line(view: Mapping[str, Any]) -> str:
    """Return who consented, when, and who recorded it, of a voice's `model_view`."""
    consent = view["consent"]
    return ", ".join(one for one in (consent.get("by"), consent.get("date"), view["consent_origin"]) if one)
