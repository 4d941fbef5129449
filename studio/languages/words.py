"""Texts that the extraction would not know as texts: lone words, and the texts of Gradio's parts."""

from typing import Final

# shown where they stand alone, and written so in the code or in the cards of the demo voices
WORDS: Final = frozenset({
    # voices
    "male", "female", "child", "adult", "pop", "rock", "hip-hop", "country", "jazz", "classical", "electronic",
    "world", "other", "soprano", "mezzo-soprano", "alto", "tenor", "baritone", "bass", "speaks", "sings", "built-in",
    "untrained", "airy", "breathy", "bright", "clear", "close", "dark", "deep", "intimate", "natural", "powerful",
    "raspy", "rough", "smoky", "soft", "warm", "young", "full", "ornamented", "resonant", "calm", "precise", "light",
    "relaxed", "gentle", "sung", "rapped", "spoken", "melodic", "rhythmic", "plenty",
    # work
    "waiting", "converting", "done", "failed", "trained", "edited", "comp", "best", "auto", "automatic", "none",
    "likeness", "intelligibility", "epoch", "unvoiced", "silence", "to", "torch", "examining", "conversion",
    # settings
    "valid", "expired", "revoked", "never", "central", "nearest", "linear", "(untrained)", "ID", "Shift", "End",
    "Strength (%)",
})  # fmt: skip

# what the cards of the demo voices say of them
DEMO_VOICES: Final = (
    "A full, ornamented voice of Turkish makam song.", "A clear, friendly American speaking voice.",
    "A calm, precise German speaking voice.", "A light, relaxed Japanese voice that sings and speaks.",
    "A warm, ornamented woman's voice of Turkish makam song.",
    "Recorded for this dataset and published under the named licence.",
    "The speaker recorded this dataset for voice technology and published it under the named licence.",
)  # fmt: skip

# of Gradio's parts that the page has: it brings some of our languages itself, but not all, and not all of its texts
GRADIO: Final = (
    "Drop Audio Here", "Drop a vocal here", "browse", "Drop File Here",
    "Click to Upload", "- or -", "Upload file", "Record audio", "Record", "Stop",
    "Pause", "Resume", "Error", "Uploading...", "number input for {label}", "range slider for {label}",
    "Reset to default value", "processing", "queue", "Remove", "Clear", "Download",
    "Loading",
)  # fmt: skip
