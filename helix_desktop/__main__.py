"""Runs Helix Desktop: `python -m helix_desktop`, or the command `helix-desktop`."""

import sys

from helix_desktop.app.exit_codes import INTERRUPTED


def start() -> int:
    """Run the command line and return its exit code; Ctrl+C ends it also while its modules are loaded."""
    try:
        from helix_desktop.cli.main import main
    except KeyboardInterrupt:
        return INTERRUPTED
    return main()


if __name__ == "__main__":
    sys.exit(start())
