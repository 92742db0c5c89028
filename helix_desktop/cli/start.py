"""Starts the command line, before its modules are loaded."""

from helix_desktop.app.exit_codes import INTERRUPTED


def start() -> int:
    """Run the command line and return its exit code; Ctrl+C ends it also while its modules are loaded."""
    try:
        from helix_desktop.cli.main import main
    except KeyboardInterrupt:
        return INTERRUPTED
    return main()
