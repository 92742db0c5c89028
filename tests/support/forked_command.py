"""A command of the command line in a process that is forked from one that has imported the app already.

Starting an interpreter and importing the app takes half a second of processor time, which most tests of the
command line are not about. Linux only: elsewhere a forked process may not use what its parent has loaded.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

PRELOADED_MODULES = (
    "tests.support.plain_imports",  # first: what comes after it is imported faster
    *("helix_desktop.cli.backup", "helix_desktop.cli.main", "helix_desktop.cli.run"),
    *("helix_desktop.cli.exam", "helix_desktop.cli.replay", "tests.support.forked_command"),
    *("helix_desktop.cli.cache.command", "helix_desktop.cli.commands", "helix_desktop.cli.timeline"),
    # Other languages, second windows and the self-check need Qt; there is no application in it yet.
    *("helix_desktop.app.main", "helix_desktop.app.single_instance", "helix_desktop.app.qt_language"),
    *("tomlkit", "tests.support.preloaded_vocabulary"),
)
STANDARD_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def run_forked(
    argv: Sequence[str | bytes | Path],
    folder: Path,
    environ: Mapping[str, str],
    stdin_data: bytes,
    timeout_s: float,
) -> tuple[int, bytes, bytes]:
    """Run `helix-desktop WORDS` in a folder with exactly this environment; return exit code, output, errors.

    Raises TimeoutError when it takes longer than `limit_s`; it is killed then.
    """
    with tempfile.TemporaryDirectory() as place:
        streams = Path(place)
        (streams / "stdin").write_bytes(stdin_data)
        arguments = ([os.fsdecode(word) for word in argv], folder, dict(environ), streams)
        process = _forkserver_context().Process(target=_run, args=arguments)
        process.start()
        process.join(timeout_s)
        code = process.exitcode
        if code is None:
            process.kill()
            process.join()
        process.close()
        if code is None:
            raise TimeoutError(f"{argv} still ran after {timeout_s:.0f} s")
        return code, (streams / "stdout").read_bytes(), (streams / "stderr").read_bytes()


@functools.cache
def _forkserver_context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED_MODULES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
        forkserver.ensure_running()
    return context


def _run(argv: list[str], folder: Path, environ: dict[str, str], streams: Path) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    for number, (name, mode) in enumerate(STANDARD_STREAMS):
        with (streams / name).open(f"{mode}b") as opened:
            os.dup2(opened.fileno(), number)
        setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    sys.argv = ["helix-desktop", *argv]
    from helix_desktop.cli.main import main

    sys.exit(main())
