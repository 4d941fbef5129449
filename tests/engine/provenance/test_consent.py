"""Consents signed by the installation that recorded them."""

import pytest

from engine.errors import ProvenanceError
from engine.provenance.consent import check_seal, consent_recorded_by, seal_consent
from engine.provenance.installation import Installation

CONSENT = {"statement": "I agree.", "by": "Mia Müster", "date": "2026-11-01"}
VOICE = "c" * 64


@pytest.fixture
def here(tmp_path):
    return Installation(tmp_path / "here")


@pytest.fixture
def seal(here):
    return seal_consent(CONSENT, VOICE, here)


def test_check_seal_names_the_signer_of_a_consent(here, seal):
    assert check_seal(CONSENT, seal, VOICE).startswith("Timbre Studio ")
    assert seal == seal_consent(CONSENT, VOICE, here)  # the same voice gives the same package


@pytest.mark.parametrize(
    "change", [{"signature": "AAAA"}, {"signature": "?"}, {"voice": "d" * 64}, {"certificate": "none"}]
)
def test_check_seal_refuses_a_changed_seal(seal, change):
    with pytest.raises(ProvenanceError, match="changed since it was signed"):
        check_seal(CONSENT, {**seal, **change})


def test_check_seal_refuses_a_changed_consent_and_a_missing_seal(seal):
    with pytest.raises(ProvenanceError, match="changed since it was signed"):
        check_seal({**CONSENT, "by": "Max"}, seal)
    with pytest.raises(ProvenanceError, match="changed since it was signed"):
        check_seal(CONSENT, {})


def test_check_seal_refuses_the_seal_of_another_voice(seal):
    with pytest.raises(ProvenanceError, match="another voice"):
        check_seal(CONSENT, seal, "d" * 64)


def test_consent_recorded_by_describes_each_state_of_a_consent(here, seal, tmp_path):
    assert consent_recorded_by(CONSENT, seal, here) == "recorded and signed here"
    assert consent_recorded_by(CONSENT, seal, Installation(tmp_path / "other")).endswith("another installation")
    assert consent_recorded_by(CONSENT, {}, here) == "not signed"
    assert consent_recorded_by({}, {}, here) == "no consent stated"
    assert "changed since" in consent_recorded_by({**CONSENT, "by": "Max"}, seal, here)
