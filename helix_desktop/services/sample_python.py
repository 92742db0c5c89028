"""The Python of the sample projects: a built app lends them its own, because a system may have none.

Their commands say `python3`; `resources/demo/bin` holds a program of that name, which starts this app again.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from helix_desktop.config.paths import resources_dir
from helix_desktop.services.app_command import app_command, is_frozen

_PROGRAM = "SAMPLE_PROGRAM"  # what resources/demo/bin/python3 starts
_USAGE = "sample-python: give -m MODULE, -c TEXT or a file, and arguments\n"


def with_sample_python(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a sample's commands, in which there is a `python3`.

    A built app's own comes before the system's, which on macOS and Windows may be a mere offer to install
    one. Elsewhere, and in an AppImage, which no sandbox can start, it comes after.
    """
    path = environ.get("PATH", os.defpath)
    if not is_frozen():
        return {**environ, "PATH": os.pathsep.join((path, str(Path(sys.executable).parent)))}
    program = app_command()[0]
    folders = (str(resources_dir() / "demo" / "bin"), path)
    if program != sys.executable:
        folders = folders[::-1]
    return {**environ, "PATH": os.pathsep.join(folders), _PROGRAM: program}


def run_sample_python(argv: Sequence[str]) -> int:
    """Run `python3 ARGS` as far as samples need it, -m MODULE, -c TEXT or a file; return the exit code."""
    try:
        match list(argv):
            case ["-m", module, *rest]:
                _run_as_main([module, *rest], os.getcwd())
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            case ["-c", text, *rest]:
                _run_as_main(["-c", *rest], os.getcwd())
                exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
            case [file, *rest] if not file.startswith("-"):
                _run_as_main([file, *rest], os.path.dirname(os.path.abspath(file)))
                runpy.run_path(file, run_name="__main__")
            case _:
                sys.stderr.write(_USAGE)
                return 2
    except Exception:  # noqa: BLE001 - whatever the sample's code raises ends it, as it would end Python
        traceback.print_exc()
        return 1
    return 0


def _run_as_main(argv: list[str], folder: str) -> None:
    sys.argv[:] = argv
    sys.path.insert(0, folder)
