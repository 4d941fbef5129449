"""`python -m studio.languages`: extract the texts, and see what the languages lack.

extract                         write the template and bring all catalogues up to date
missing LANGUAGE [FILE]         list what is not translated, as JSON to fill in
fill LANGUAGE FILE              take translations from such a file
check                           report what is missing or wrong in all languages; exit status 1 if anything is
"""

import json
import sys
from pathlib import Path

from studio.languages.counting import counted_field_of
from studio.languages.known import LANGUAGES, chosen_by
from studio.languages.upkeep import extract, faults, fill, missing, write_all


def main(arguments: list[str]) -> int:
    """Carry out one command and return its exit status."""
    match arguments:
        case ["extract"]:
            write_all()
        case ["missing", code, *rest]:
            language = chosen_by([code])
            left = {
                text: [""] * len(language.plurals) if counted_field_of(text) and len(language.plurals) > 1 else ""
                for text in missing(language, extract())
            }
            listed = json.dumps(left, ensure_ascii=False, indent=1)
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


def _check() -> int:
    template = extract()
    status = 0
    for language in LANGUAGES.values():
        lacking, wrong = missing(language, template), faults(language, template)
        sys.stdout.write(f"{language.code}: {len(lacking)} missing, {len(wrong)} wrong\n")
        for line in [*lacking[:5], *wrong]:
            sys.stdout.write(f"  {line}\n")
        status |= bool(lacking or wrong)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
