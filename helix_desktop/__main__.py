"""Runs Helix Desktop: `python -m helix_desktop`."""

import sys

from helix_desktop.start import start

if __name__ == "__main__":
    sys.exit(start())
