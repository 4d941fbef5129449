"""`python -m studio.languages`: bring the catalogues up to date, and see what the languages lack.

extract                         bring all catalogues up to date with the texts of the code
missing LANGUAGE [FILE]         list what is not translated, as JSON to fill in
fill LANGUAGE FILE              take translations from such a file
check                           report what is missing or wrong in all languages; exit status 1 if anything is
"""

import json
import sys
from pathlib import Path

from studio.languages.extraction import all_texts
from studio.languages.known import Language, chosen_by
from studio.languages.upkeep import TRANSLATED, Form, english_of, faults, fill, missing, stale, write_all


def main(arguments: list[str]) -> int:
    """Carry out one command and return its exit status."""
    match arguments:
        case ["extract"]:
            write_all()
        case ["missing", code, *rest]:
            listed = json.dumps(_to_fill_in(chosen_by([code])), ensure_ascii=False, indent=1)
            if rest:
                Path(rest[0]).write_text(listed + "\n", encoding="utf-8")
            else:
                sys.stdout.write(listed + "\n")
        case ["fill", code, file]:
            fill(chosen_by([code]), Path(file))
        case ["check"]:
            return _check()
        case _:
            sys.stderr.write(__doc__)
            return 2
    return 0


def _to_fill_in(language: Language) -> dict[str, Form]:
    """Return what is missing by its English, in as many empty forms as the language has."""
    left = missing(language, all_texts())
    return {english_of(one): [""] * len(language.plurals) if isinstance(one, tuple) else "" for one in left}


def _check() -> int:
    texts = all_texts()
    status = 0
    for language in TRANSLATED:
        lacking, unused, wrong = missing(language, texts), stale(language, texts), faults(language)
        sys.stdout.write(f"{language.code}: {len(lacking)} missing, {len(unused)} not used, {len(wrong)} wrong\n")
        for line in [*lacking[:5], *unused[:5], *wrong]:
            sys.stdout.write(f"  {line}\n")
        status |= bool(lacking or unused or wrong)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
