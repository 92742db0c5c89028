"""Starts the command line, before its modules are loaded."""

import gc
import sys

from helix_desktop.system.exit_codes import FAILED, INTERRUPTED

_WINDOW_OPTIONS = {"--data-dir", "--workspace", "--demo"}


def start() -> int:
    """Run the command line and return its exit code; Ctrl+C ends it also while its modules are loaded."""
    gc.disable()  # what is loaded stays, so looking for garbage is waste; `main` turns it on again
    try:
        from helix_desktop.main import main
    except KeyboardInterrupt:
        return INTERRUPTED
    except ImportError as error:
        return _report_damage(error)
    return main()


def _report_damage(error: ImportError) -> int:
    """Say that a part of the program can't be loaded, in a message box if the window was to open."""
    from helix_desktop.app.plain_startup_error import (
        couldnt_start_text,
        damaged_installation_text,
        show_plain_startup_error,
    )

    what = couldnt_start_text()
    fix = damaged_installation_text()
    sys.stderr.write(f"helix-desktop: {what} {error}. {fix}\n")
    if set(sys.argv[1::2]) <= _WINDOW_OPTIONS:
        show_plain_startup_error(what, str(error), fix)
    return FAILED
