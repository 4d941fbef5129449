"""What anyone needs to measure again: the demo voices' speakers are among the sets that are named."""

from argparse import Namespace

from engine.research.benchmark.public_data import CORPUS, SOURCES, run
from engine.voices.card import DEMO_VOICES, list_voices


def test_public_data_has_a_free_licence_and_an_address_for_each_set():
    for one in (*SOURCES, *CORPUS):
        assert one.licence in ("CC BY 3.0", "CC BY 4.0", "CC BY-SA 4.0", "CC0", "MIT", "public domain")
        assert one.address.startswith("https://")


def test_public_data_names_the_sets_of_all_demo_voices():
    named = " ".join(one.files for one in CORPUS)
    assert all(card.corpus_speaker.split("/")[0] in named for card in list_voices(DEMO_VOICES))


def test_run_lists_every_set():
    said = "\n".join(run(Namespace()))
    assert all(one.address in said and one.files in said for one in (*SOURCES, *CORPUS))
