"""What is typed most often of each command: on top of its help, and tried by a test as far as typing goes."""

EXAMPLES = {
    "": ("serve", "convert vocal.wav --voice koguchi", "doctor"),  # of the program itself
    "serve": (
        "serve",
        "serve --port 8000 --open-page off",
        "serve --host 0.0.0.0 --base-url https://voices.example.com",
    ),
    "convert": (
        "convert vocal.wav --voice koguchi",
        "convert *.wav -v koguchi -o converted/ --takes 3",
        "convert song.mp3 -v koguchi --separate --backing keep -o cover.flac",
    ),
    "mix": (
        "mix vocal.koguchi.wav backing.wav -o mix.wav",
        "mix vocal.koguchi.wav backing.wav --original vocal.wav -o mix.wav",
        "mix vocal.koguchi.wav backing.wav --vocal-db 2 --offset 1.5 -o mix.flac",
    ),
    "separation": ("separation status", "separation fetch", "separation fetch --file htdemucs.onnx"),
    "separation status": ("separation status", "separation status --json", "separation status --quiet"),
    "separation fetch": ("separation fetch", "separation fetch --yes", "separation fetch --file htdemucs.onnx"),
    "live": (
        "live --devices",
        "live --voice koguchi --channel 2",
        "live -v koguchi --input vocal.wav --output live.wav",
    ),
    "voices": ("voices", "voices export mia", "voices import mia.voice.zip"),
    "voices export": ("voices export mia", "voices export mia -o shared/", "voices export mia --onnx"),
    "voices import": (
        "voices import mia.voice.zip",
        "voices import mia.voice.zip --name Maria",
        "voices import rita.pth --index rita.index",
    ),
    "voices blend": (
        "voices blend mia koguchi",
        "voices blend mia koguchi --share 0.3",
        'voices blend mia koguchi --share 0.3 --name "Mia and Koguchi"',
    ),
    "voices delete": ("voices delete mia", "voices delete mia --yes", "voices delete mia --quiet"),
    "rvc": ("rvc status", "rvc fetch", 'rvc teach mia song.wav --name "Mia II"'),
    "rvc status": ("rvc status", "rvc status --quiet", "rvc fetch"),
    "rvc fetch": ("rvc fetch", "rvc fetch --small", "rvc fetch --yes"),
    "rvc use": ("rvc use pytorch_model.bin", "rvc use hubert_base.pt", "rvc use contentvec/"),
    "rvc teach": (
        'rvc teach mia song.wav --name "Mia II"',
        'rvc teach mia recordings/ --name "Mia II" --epochs 100',
        'rvc teach mia song.wav other.wav --name "Mia II" --device cuda',
    ),
    "projects": ("projects", "projects export vocal.wav --tempo 96", "projects delete vocal.wav"),
    "projects export": (
        "projects export vocal.wav --tempo 96 --beats 3",
        "projects export vocal.wav --dry -o session/",
        "projects export vocal.wav -o song.dawproject",
    ),
    "projects set": (
        'projects set vocal.wav --name "Ave Maria"',
        "projects set vocal.wav --tempo 96",
        "projects set vocal.wav --at 12.5",
    ),
    "projects delete": ("projects delete vocal.wav", "projects delete vocal.wav --yes", "projects delete vocal.wav -q"),
    "reaper": ("reaper", "reaper ~/.config/REAPER/Scripts", "reaper --quiet"),
    "presets": ("presets", "presets show Dark", "presets delete Dark"),
    "presets show": ("presets show melodic", "presets show Dark", "presets show Dark --quiet"),
    "presets delete": ("presets delete Dark", "presets delete Dark --yes", "presets delete Dark --quiet"),
    "create": (
        "create recordings.zip --name Mia",
        'create recordings/ --name Mia --consent-by "Mia Muster" --consent-statement "I agree."',
        "create songs/ --name Mia --remove-music",
    ),
    "report": ("report recordings.zip", "report recordings/ --plot report.png", "report mia --json"),
    "train": ("train mia --estimate", "train mia --epochs 100", "train mia --epochs 100 --device cuda"),
    "analyse": (
        "analyse vocal.wav",
        "analyse vocal.wav --plot vocal.png",
        "analyse vocal.wav --csv pitch.csv --midi notes.mid",
    ),
    "comp": (
        "comp vocal.wav vocal.koguchi.wav vocal.koguchi.take2.wav",
        "comp vocal.wav vocal.koguchi.wav vocal.koguchi.take2.wav --choose 1,2",
        "comp vocal.wav vocal.koguchi.wav vocal.koguchi.take2.wav --choose 1,2,1 -o comp.flac",
    ),
    "verify": ("verify vocal.koguchi.wav", "verify *.wav", "verify vocal.koguchi.wav --json"),
    "credentials": ("credentials", "credentials rotate", "verify vocal.koguchi.wav"),
    "credentials rotate": ("credentials rotate", "credentials rotate --quiet", "credentials"),
    "token": ("token create my-program", "token list", "token revoke my-program"),
    "token create": (
        "token create my-program",
        "token create phone --expires-days 30",
        "token create my-program --account choir",
    ),
    "token list": ("token list", "token list --json", "token list --account choir"),
    "token revoke": (
        "token revoke my-program",
        "token revoke phone --account choir",
        "token revoke my-program --quiet",
    ),
    "doctor": ("doctor", "doctor --json", "doctor --quiet"),
    "mcp": ("mcp", "mcp --quiet", "--language en mcp"),
    "lab": ("lab", "lab --out my-notebooks", "lab --no-browser --port 8890"),
    "notebooks": (
        "notebooks --out notebooks",
        "notebooks --language de --out hefte",
        "notebooks --language ja --out notebooks",
    ),
    "lessons": ("lessons --out lessons", "lessons --language de --out lessons", "lessons --language ja --out lessons"),
    "update": ("update", "update --quiet", "--language de update"),
    "demo": ("demo", "demo --voice koguchi", "demo --json"),
}

# what -h shows of the commands with many options; --help shows all
MOST_USED = {
    "convert": set("voice output overwrite takes transpose preset effects likeness harmony separate backing".split()),
    "serve": {"host", "port", "base_url", "open_page", "verbose"},
    "train": {"estimate", "afresh", "epochs"},
    "live": {"voice", "source", "output", "second", "channel", "devices", "transpose"},
    "create": {"name", "consent_by", "consent_statement", "licence"},
}
ALWAYS = {"help", "quiet"}
