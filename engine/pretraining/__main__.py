"""`python -m engine.pretraining [PART] [OPTION ...]`: the parts are the modules of engine/research/pretraining."""

import sys

from engine.research.command import main

if __name__ == "__main__":  # also read by the processes that parts start
    sys.exit(main("pretraining"))
