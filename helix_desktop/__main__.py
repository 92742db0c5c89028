"""Runs Helix Desktop: `python -m helix_desktop`."""

import multiprocessing
import sys

from helix_desktop.cli.main import main

if __name__ == "__main__":
    multiprocessing.freeze_support()  # a frozen program is started again for each worker of `replay --jobs`
    sys.exit(main())
