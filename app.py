"""Start Timbre Studio: the page and the HTTP service, with its demo voices. What a hosted Space runs.

Options are those of `timbre-studio serve`; all else is in `timbre-studio --help`.
"""

import sys

from studio.commands.cli import main

if __name__ == "__main__":
    main(["serve", *sys.argv[1:]])
