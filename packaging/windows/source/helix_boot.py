"""What the launchers start: sets the interpreter up as part of the program, then runs Helix Desktop."""

import multiprocessing
import os
import sys
from pathlib import Path


def _boot() -> int:
    sys.frozen = "helix"  # type: ignore[attr-defined]  # asked by what starts this program anew
    # A program that is started by us has no console of its own to print to: the windowed launcher opens none.
    windowed = Path(sys.executable).with_suffix(".exe")
    if windowed.is_file():
        sys.executable = str(windowed)
    os.environ.pop("PYTHONHOME", None)
    multiprocessing.freeze_support()

    from helix_desktop.start import start

    return start()


if __name__ == "__main__":
    sys.exit(_boot())
