"""How the frozen app starts: restore the user's environment, then run the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

_ORIGINAL = "_ORIG"
_LOADER = ("LD_LIBRARY_PATH", "LIBPATH", "DYLD_LIBRARY_PATH")
_BOOTLOADER = ("_PYI_", "_MEIPASS", "PYINSTALLER_")


def restored(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what PyInstaller's bootloader put in it.

    Programs that the app starts must not load the app's libraries. The loader of this process has read its
    variables already; the user's values are in NAME_ORIG.
    """
    restored_environ = {name: value for name, value in environ.items() if not name.startswith(_BOOTLOADER)}
    for name in _LOADER:
        original = restored_environ.pop(name + _ORIGINAL, None)
        ours = restored_environ.get(name, "").split(os.pathsep)[0] == getattr(sys, "_MEIPASS", None)
        if original is not None:
            restored_environ[name] = original
        elif ours:
            restored_environ.pop(name)
    return restored_environ


def main() -> int:
    """Run one command of Helix Desktop, or be the process that replays policies."""
    before = dict(os.environ)
    after = restored(before)
    for name in before.keys() - after.keys():
        del os.environ[name]
    os.environ.update(after)
    if len(sys.argv) > 1 and sys.argv[1].startswith("-") and _is_for_multiprocessing(sys.argv[1:]):
        import multiprocessing

        multiprocessing.freeze_support()
    from helix_desktop.start import start

    return start()


def _is_for_multiprocessing(words: list[str]) -> bool:
    return words[0] == "--multiprocessing-fork" or any("multiprocessing" in word for word in words)


if __name__ == "__main__":
    sys.exit(main())
