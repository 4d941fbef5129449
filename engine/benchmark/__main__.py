"""`python -m engine.benchmark [PART] [OPTION ...]`: the parts are the modules of engine/research/benchmark."""

import sys

from engine.research.command import main

if __name__ == "__main__":  # also read by the processes that parts start
    sys.exit(main("benchmark"))
