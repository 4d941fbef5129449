"""Start Timbre Studio.

The page comes with a later release. Until then this does the main job at once: it converts a bundled recording
with a demo voice and says where the result is and how it scored. All else is in `python -m studio --help`.
"""

import sys

from studio.cli import main

if __name__ == "__main__":
    main(["demo", *sys.argv[1:]])
