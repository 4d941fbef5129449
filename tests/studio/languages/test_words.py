"""What the cards of the demo voices say can be translated."""

from engine.voices.card import DEMO_VOICES as FOLDER
from engine.voices.card import load_card
from studio.languages.words import DEMO_VOICES, WORDS


def test_words_include_all_texts_and_traits_of_the_demo_voices():
    cards = [load_card(folder) for folder in sorted(FOLDER.iterdir()) if (folder / "card.json").exists()]
    said = {card.description for card in cards} | {card.consent["statement"] for card in cards}
    assert said == set(DEMO_VOICES)
    assert {trait for card in cards for trait in card.traits} <= WORDS
