"""Runs the checks: `python -m check` in the folder packaging."""

import sys

from check.run import check

if __name__ == "__main__":
    sys.exit(check(sys.argv[1:]))
