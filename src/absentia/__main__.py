"""``python -m absentia`` is the command ``absentia``."""

import sys

from absentia.cli import main

if __name__ == "__main__":
    sys.exit(main())
