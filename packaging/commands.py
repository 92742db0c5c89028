"""The commands of ./helix: set up what a command needs, then run it. Standard library only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import qt_libraries
from check.static import LOCK as STATIC_LOCK
from doctor import examine
from environment import LOCKS, Environment, SetupFailed, call, clean_environ, lock_entries, read_lock, say
from package import main as build_packages
from package_environment import LOCK as PACKAGE_LOCK
from peers import LOCK as PEERS_LOCK
from peers import Peers, lock_node
from texts.build import stale_catalogs

ROOT = Path(__file__).resolve().parent.parent
HERE = Environment(ROOT)
PEERS = Path("tests", "peers")

CHECKS = {
    "format": ("ruff", "format", "--check", "--quiet", "--cache-dir", ".ruff_cache", "."),
    "lint": ("ruff", "check", "--quiet", "--cache-dir", ".ruff_cache", "."),
    "imports": ("lint-imports", "--no-logo"),
    "types": ("mypy", "--no-error-summary"),
    "rules": ("python", str(Path("packaging", "house_rules.py"))),
}

Command = Callable[[Sequence[str]], int]


def run(arguments: Sequence[str]) -> int:
    """Start the app; without a display and without arguments, the guided demo into build/demo."""
    _set_up("run", libraries="run")
    if arguments or _has_display():
        _become("-m", "helix_desktop", *arguments)
    _become("-m", "helix_desktop", "demo", "--out", str(Path("build", "demo")))


def test(arguments: Sequence[str]) -> int:
    """Check the code, and run all tests in five processes; with arguments, only pytest with them."""
    _set_up("test", libraries="test")
    if arguments:
        return _call("-m", "pytest", *arguments)
    with ThreadPoolExecutor() as side_by_side:
        # The types take a core for most of a minute: the tests need not leave the other one idle.
        checks = side_by_side.submit(_check, before_line="\n")  # amid the tests' dots
        # Else each of the tests' processes compiles the app and the tests for itself, all at the same time.
        if not (ROOT / "tests" / "__pycache__").exists():
            _compile_tests()
        # On the two cores that it has to fit on, three of them left one idle: tests wait for children, for
        # disks, and for what a window does after a moment.
        with _folder_in_memory() as folder:
            in_memory = ("--basetemp", str(Path(folder, "tests"))) if folder else ()
            tested = _call("-m", "pytest", "-n", "5", "--dist", "worksteal", f"--ignore={PEERS}", *in_memory)
    # Only what failed comes last: pytest's summary is the last line of a good run.
    failed = _report_failed(checks.result())
    return tested or failed


def test_peers(arguments: Sequence[str]) -> int:
    """Test against other programs, installed into build/peers; skip those that can't be installed."""
    _set_up_peers()
    # They mostly wait for other programs; those that share one stand in one file.
    everything = ["-n", "3", "--dist", "loadfile", str(PEERS)]
    # A group of tests that cannot even be read must not cost the others.
    return _call("-m", "pytest", "--continue-on-collection-errors", *(arguments or everything))


def soak(arguments: Sequence[str]) -> int:
    """Run 2,000 turns against a server that fails on purpose, and check for leaks; --turns N for fewer."""
    _set_up_peers()
    _become(str(PEERS / "soak.py"), *arguments)


def check(arguments: Sequence[str]) -> int:
    """Check format, lint, imports, types and the project's own rules; print the size of the code."""
    _set_up("test", libraries=None)
    outputs = _check()
    failed = _report_failed(outputs)
    sys.stdout.write("" if failed else f"\n{outputs['rules'].stdout}")
    return failed


def bench(arguments: Sequence[str]) -> int:
    """Run the benchmarks and print one table; --trajectories DIR replays recorded sessions."""
    _set_up("test", libraries="run")
    _become(str(Path("tests", "benchmarks", "run.py")), *arguments)


def exam(arguments: Sequence[str]) -> int:
    """Ask a model about recorded sessions: tests/exam/README.md; --help lists the options."""
    _set_up("test", libraries="run")
    _become("-m", "tests.exam.run", *arguments)


def torture(arguments: Sequence[str]) -> int:
    """Stress and damage the store, and test properties deeply; with names, only tests/torture/NAME.py."""
    _set_up("test", libraries=None)
    scripts = sorted((ROOT / "tests" / "torture").glob("*.py"))
    selected = [path for path in scripts if not arguments or path.stem in arguments]
    failed = [path.name for path in selected if _call(str(path.relative_to(ROOT)))]
    sys.stdout.write(f"failed: {', '.join(failed)}\n" if failed else f"{len(selected)} passed\n")
    return 1 if failed or not selected else 0


def screenshots(arguments: Sequence[str]) -> int:
    """Take screenshots of every screen, light and dark, into build/screenshots; --all: in all sizes."""
    _set_up("test", libraries="run")
    _become(str(Path("packaging", "screenshots.py")), *arguments)


def texts(arguments: Sequence[str]) -> int:
    """Update the catalogs of texts, list every text by screen, and check the rules of texts."""
    _set_up("test", libraries=None)
    return _call(str(Path("packaging", "update_texts.py")), *arguments)


def package(arguments: Sequence[str]) -> int:
    """Build and check installers; without arguments, list what can be built."""
    return build_packages(ROOT, arguments)


def doctor(arguments: Sequence[str]) -> int:
    """List what is installed and what is missing, with one line to copy; change nothing."""
    return examine(HERE, os.environ)


def lock(arguments: Sequence[str]) -> int:
    """Resolve pyproject.toml into the lock files, and the Node peers; --upgrade takes newer versions."""
    with tempfile.TemporaryDirectory() as folder:
        tool = Environment(Path(folder))
        _must(sys.executable, "-m", "venv", str(Path(folder, ".venv")))
        _must(str(tool.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv")
        # A lock has names, never addresses: no address of any registry comes into the project.
        resolve = [
            *("-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
            *("--generate-hashes", "--no-emit-index-url", "--no-emit-find-links", "--no-header"),
            "--system-certs",
        ]
        run_lock = Path(LOCKS["run"])
        _must(str(tool.python), *resolve, *arguments, "pyproject.toml", "-o", str(run_lock))
        for group, name in (("dev", Path(LOCKS["test"])), ("package", PACKAGE_LOCK)):
            whole = Path(folder, f"{group}.txt")
            whole.write_text(read_lock(name), encoding="utf-8")  # versions that are locked now stay
            # The tested versions are the shipped ones.
            words = ["--group", group, "--constraints", str(run_lock), "-o", str(whole)]
            _must(str(tool.python), *resolve, *arguments, "pyproject.toml", *words)
            begins_with = os.path.relpath(run_lock, name.parent)
            rest = _only_here(whole.read_text(encoding="utf-8"), run_lock.read_text(encoding="utf-8"))
            name.write_text(f"-r {begins_with}\n{rest}", encoding="utf-8")
        static = ["--group", "pyproject.toml:static", "-o", str(STATIC_LOCK)]
        _must(str(tool.python), *resolve, *arguments, *static)
        peers = ["--group", "pyproject.toml:peers", "-o", str(PEERS_LOCK)]
        _must(str(tool.python), *resolve, *arguments, *peers)
    lock_node(ROOT)
    return 0


def _only_here(lock: str, other: str) -> str:
    """Return the entries of a lock that another lacks; comments are no difference.

    An entry for more systems than in the other (another marker) stays: pip takes both, of one version.
    """
    names = {entry.partition(" \\\n")[0] for entry in lock_entries(other)}
    return "".join(entry for entry in lock_entries(lock) if entry.partition(" \\\n")[0] not in names)


def show_help(arguments: Sequence[str]) -> int:
    """List the commands."""
    sys.stdout.write("Usage: ./helix COMMAND [ARGUMENTS]\n\n")
    for name, command in COMMANDS.items():
        sys.stdout.write(f"  {name:<12} {command.__doc__}\n")
    return 0


COMMANDS: dict[str, Command] = {
    "run": run,
    "test": test,
    "test-peers": test_peers,
    "soak": soak,
    "check": check,
    "bench": bench,
    "exam": exam,
    "torture": torture,
    "screenshots": screenshots,
    "texts": texts,
    "package": package,
    "doctor": doctor,
    "lock": lock,
    "help": show_help,
}


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 1 if set-up fails, 2 for an unknown command."""
    name, rest = (arguments[0], arguments[1:]) if arguments else ("help", [])
    command = COMMANDS.get("help" if name in {"-h", "--help"} else name)
    if command is None:
        say(f"Unknown command: {name!r}. `./helix help` lists the commands.")
        return 2
    os.chdir(ROOT)
    try:
        return command(rest)
    except SetupFailed as failed:
        say(str(failed))
        return 1
    except OSError as error:
        say(f"{error.filename or ROOT}: {error.strerror}. Check the permissions and the free disk space.")
        return 1
    except KeyboardInterrupt:
        return 130


def _set_up(need: str, *, libraries: str | None) -> None:
    HERE.require_own()
    lacking = qt_libraries.missing(libraries, os.environ) if libraries else []
    if HERE.holds(need) and HERE.has_command and not lacking:
        _compile_languages()
        return
    binding = [] if HERE.holds(need) else qt_libraries.missing_binding(str(Path(sys.executable).resolve()))
    with HERE.alone():
        if libraries or binding:
            qt_libraries.ensure(libraries, os.environ, also=binding)
        HERE.ensure(need)
        HERE.link_command()
    _compile_languages()


def _compile_languages() -> None:
    """Compile the catalogs of languages that have changed."""
    if stale_catalogs(ROOT):
        _must(str(HERE.python), str(Path("packaging", "update_texts.py")), "--compile")


def _set_up_peers() -> None:
    _set_up("test", libraries="test")
    with HERE.alone():
        Peers(ROOT).ensure()


def _has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _environ() -> dict[str, str]:
    environ = clean_environ()
    if not _has_display() and sys.platform.startswith("linux"):
        environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    return environ


def _compiling_environ() -> dict[str, str]:
    # Each of the many test processes would compile the complete app again.
    return {name: text for name, text in _environ().items() if name != "PYTHONDONTWRITEBYTECODE"}


def _call(*arguments: str) -> int:
    sys.stdout.flush()
    return subprocess.run([str(HERE.python), *arguments], env=_compiling_environ(), check=False).returncode


@contextmanager
def _folder_in_memory() -> Iterator[str | None]:
    """Make a folder on the RAM disk for the files of the tests, which wait 4 ms for a disk at each sync.

    Yields None where there is no RAM disk, or one with less than 4 GiB free.
    """
    memory = Path("/dev/shm")
    if not memory.is_dir() or shutil.disk_usage(memory).free < 4 << 30:
        yield None
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="helix-tests-", ignore_cleanup_errors=True) as folder:
        yield folder


def _compile_tests() -> None:
    """Let pytest compile the test modules; their own run reports any error in them."""
    collect = [str(HERE.python), "-m", "pytest", "--collect-only", "-q", f"--ignore={PEERS}"]
    subprocess.run(collect, env=_compiling_environ(), capture_output=True, check=False)


def _become(*arguments: str) -> NoReturn:
    """Replace this process by the environment's Python, so that signals reach it; does not return."""
    sys.stdout.flush()
    os.execve(str(HERE.python), [str(HERE.python), *arguments], _environ())


def _must(*command: str) -> None:
    if call(*command):
        raise SetupFailed(f"`{' '.join(command)}` failed (see above).")


def _check(before_line: str = "") -> dict[str, subprocess.CompletedProcess[str]]:
    """Run all checks side by side, print a line for each, and return what each printed."""
    outputs = {}
    with ThreadPoolExecutor() as side_by_side:
        results = zip(CHECKS, side_by_side.map(_run_check, CHECKS.values()), strict=True)
        for name, (done, seconds) in results:
            verdict = "failed" if done.returncode else "ok"
            sys.stdout.write(f"{before_line}check {name:<8} {verdict:<6} {seconds:5.1f} s\n")
            sys.stdout.flush()
            outputs[name] = done
    return outputs


def _report_failed(outputs: Mapping[str, subprocess.CompletedProcess[str]]) -> int:
    """Print what the failed checks printed; return the exit code."""
    failed = {name: done for name, done in outputs.items() if done.returncode}
    for name, done in failed.items():
        sys.stdout.write(f"\ncheck {name} failed:\n{done.stdout}{done.stderr}\n")
    sys.stdout.flush()
    return 1 if failed else 0


def _run_check(command: Sequence[str]) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run one check; return its result and its seconds."""
    start = time.monotonic()
    line = [str(HERE.python.with_name(command[0])), *command[1:]]
    done = subprocess.run(line, env=_environ(), capture_output=True, text=True, check=False)
    return done, time.monotonic() - start


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
