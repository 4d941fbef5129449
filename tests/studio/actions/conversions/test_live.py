"""Live sessions: who may sing, what is kept, and what happens when the process dies."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
import soundfile

from engine.errors import SettingsError
from studio.actions.conversions.live import LiveSessions
from studio.actions.conversions.takes import result_view
from studio.actions.history import history_view
from studio.actions.voice_ends import range_of
from studio.actions.voices.cards import voice_cards
from studio.errors import Invalid, NotFound, TooMany, Unauthorised, Unavailable
from studio.store.accounts import account_prefix
from studio.store.tasks import list_tasks
from tests.waiting import PATIENCE_S, in_threads

# little work in long blocks, so that a busy machine is not too slow
GIVEN = {"block_ms": 320, "content": "student"}


@pytest.fixture
def sessions(studio, monkeypatch):
    for name in ("_START_S", "_BLOCK_S"):
        monkeypatch.setattr(f"studio.executors.live.{name}", PATIENCE_S)
    monkeypatch.setattr("studio.actions.conversions.live._LEFT_S", PATIENCE_S)
    return LiveSessions(studio)


def opened(sessions, secret, rate):
    """The session of a ticket, as the route opens it."""
    with sessions.admitted(secret) as ticket:
        return sessions.open(ticket, rate)


@pytest.mark.system
def test_live_sessions_open_one_session_per_ticket_and_record_it_into_history(sessions, studio, other):
    secret = sessions.ticket(studio.local, "kathleen", GIVEN, record=True)
    session = opened(sessions, secret, 48_000)
    try:
        with pytest.raises(Unauthorised, match="Press Start again"):
            opened(sessions, secret, 48_000)
        for account in (studio.local, other):  # one a visitor, and no more than the machine can bear
            with pytest.raises(TooMany):
                sessions.ticket(account, "kathleen", GIVEN, record=False)
        block = (0.1 * np.sin(np.arange(session.facts["block"]) / 35)).astype(np.float32)
        converted, meter = session.convert(block.tobytes())
        assert len(converted) == len(block) * 4
        assert meter["input_peak"] == pytest.approx(0.1, rel=0.01)
        session.change({"transpose": 3.0, "voice": "koguchi"})
        with pytest.raises(Invalid, match="block_ms cannot be changed"):
            session.change({"block_ms": 20})
        with pytest.raises(SettingsError, match="transpose must be"):
            session.change({"transpose": 99.0})
        with pytest.raises(Invalid, match="A block has"):
            session.convert(b"1234")
    finally:
        task = session.finish()
    view = result_view(studio, studio.local, task, "", 0.0)
    assert (view.state, view.model, len(view.takes)) == ("completed", "kathleen", 1)
    assert [one.id for one in list_tasks(studio.database, studio.local.id)[0]] == [task]
    assert [row.id for row in history_view(studio, studio.local, "", 0.0).tasks] == [task]
    assert (studio.settings.work / "live" / studio.local.id).exists()


@pytest.mark.system
def test_live_sessions_begin_a_recording_while_they_run_in_the_voice_that_is_heard(sessions, studio, tmp_path):
    session = opened(sessions, sessions.ticket(studio.local, "kathleen", GIVEN, record=False), 48_000)
    block = np.zeros(session.facts["block"], np.float32).tobytes()
    try:
        session.convert(block)
        session.change({"voice": "koguchi"})
        session.change({"record": True})
        session.convert(block)
        session.change({"record": True})  # goes on
        session.change({"voice": "safiye"})
        session.convert(block)
        with pytest.raises(Invalid, match="A recording ends with its session"):
            session.change({"record": False})
    finally:
        task = session.finish()
    view = result_view(studio, studio.local, task, "", 0.0)
    assert (view.state, view.model) == ("completed", "koguchi")
    kept = studio.storage.fetch(f"{account_prefix(studio.local)}tasks/{task}/live-1.wav", tmp_path)
    assert soundfile.info(kept).duration == pytest.approx(2 * GIVEN["block_ms"] / 1000)


def test_live_sessions_list_voices_as_their_cards_with_the_ranges_that_a_recording_is_fitted_to(sessions, studio):
    voices = sessions.voices(studio.local)
    cards = voice_cards(studio, studio.local, "", 0.0)
    assert [voice.id for voice in voices] == [card.id for card in cards]
    for voice in voices:
        for style, is_sung in (("melodic", True), ("spoken", False)):
            assert voice.ends[style] == range_of(studio, studio.local, voice.id, is_sung)
    by_id = {voice.id: voice.ends for voice in voices}
    safiye, everett = by_id["safiye"]["melodic"], by_id["everett"]["melodic"]
    assert (safiye.low, safiye.high, safiye.estimated) == (55, 72, None)  # G3 to C5
    assert everett.estimated == "sung"  # who only speaks in the recordings


@pytest.mark.system
def test_live_sessions_report_a_killed_process_and_allow_a_new_session(sessions, studio):
    session = opened(sessions, sessions.ticket(studio.local, "kathleen", GIVEN, record=False), 44_100)
    os.kill(session.pid, signal.SIGKILL)
    with pytest.raises(Unavailable, match="ended unexpectedly"):
        session.convert(np.zeros(session.facts["block"], np.float32).tobytes())
    with pytest.raises(Unavailable):
        session.finish()
    assert sessions.ticket(studio.local, "kathleen", GIVEN, record=False)


@pytest.mark.system
def test_live_sessions_begin_another_as_soon_as_one_has_ended_whose_browser_is_gone(sessions, studio):
    session = opened(sessions, sessions.ticket(studio.local, "kathleen", GIVEN, record=True), 48_000)
    session.is_left = True  # a reload
    _, secret = in_threads(
        2, lambda turn: sessions.ticket(studio.local, "kathleen", GIVEN, record=False) if turn else session.finish()
    )
    with sessions.admitted(secret):
        pass


@pytest.mark.system
def test_live_sessions_refuse_unknown_voices_bad_settings_and_expired_tickets(sessions, studio, monkeypatch):
    with pytest.raises(NotFound):
        sessions.ticket(studio.local, "nobody", GIVEN, record=False)
    with pytest.raises(SettingsError, match="multiple of 20"):
        sessions.ticket(studio.local, "kathleen", {"block_ms": 50}, record=False)
    with pytest.raises(SettingsError, match="There is no setting 'nothing'"):
        sessions.ticket(studio.local, "kathleen", {"nothing": 1}, record=False)
    secret = sessions.ticket(studio.local, "kathleen", GIVEN, record=False)
    sessions._tickets[secret] = replace(sessions._tickets[secret], until=0.0)
    with pytest.raises(Unauthorised):
        opened(sessions, secret, 48_000)
    with pytest.raises(SettingsError, match="samples a second"):
        opened(sessions, sessions.ticket(studio.local, "kathleen", GIVEN, record=False), 44_099)
    assert sessions.ticket(studio.local, "kathleen", GIVEN, record=False)  # nothing was left open


def test_live_sessions_refuse_blocks_larger_than_a_message(sessions, studio):
    """They were dropped without a word."""
    secret = sessions.ticket(studio.local, "kathleen", {"block_ms": 320}, record=False)
    with pytest.raises(SettingsError, match="Blocks of 320 ms at 192,000 samples a second are too large"):
        opened(sessions, secret, 192_000)


def test_live_sessions_keep_one_ticket_and_one_waiting_socket_of_an_account(sessions, studio, other, monkeypatch):
    replaced, secret = (sessions.ticket(studio.local, "kathleen", GIVEN, record=False) for _ in range(2))
    with pytest.raises(Unauthorised), sessions.admitted(replaced):
        pass
    with sessions.admitted(secret):
        again = sessions.ticket(studio.local, "kathleen", GIVEN, record=False)
        with pytest.raises(TooMany, match="running already"), sessions.admitted(again):
            pass
        monkeypatch.setattr("studio.actions.conversions.live._MOST_WAITING", 1)
        with pytest.raises(TooMany, match="busy"), sessions.admitted(sessions.ticket(other, "kathleen", GIVEN, False)):
            pass
    with sessions.admitted(sessions.ticket(other, "kathleen", GIVEN, record=False)):  # once there is room
        pass
