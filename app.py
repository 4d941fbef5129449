"""Start Timbre Studio: the page and the HTTP service, with its demo voices. What a hosted Space runs.

Options are those of `python -m studio serve`; all else is in `python -m studio --help`.
"""

import sys

from studio.commands.cli import main

if __name__ == "__main__":
    main(["serve", *sys.argv[1:]])
