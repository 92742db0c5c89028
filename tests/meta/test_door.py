"""The one door: commands, clear refusals, and set-up that is done once."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import door
import pytest
import qt_libraries
from environment import LOCKS, Environment, SetupFailed

ROOT = Path(__file__).resolve().parents[2]


def helix(folder: Path, *arguments: str, path: str) -> subprocess.CompletedProcess[str]:
    """Call the helix script of `folder` with `path` as its only places for programs."""
    return subprocess.run(
        ["/bin/sh", str(folder / "helix"), *arguments],
        env={"PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def lonely(folder: Path, **programs: str) -> str:
    """Make a place for programs that holds dirname and the given scripts only."""
    place = folder / "bin"
    place.mkdir()
    (place / "dirname").symlink_to(shutil.which("dirname") or "/usr/bin/dirname")
    for name, script in programs.items():
        (place / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (place / name).chmod(0o755)
    shutil.copy(ROOT / "helix", folder)
    return str(place)


def test_without_any_python_one_line_says_what_to_install(tmp_path: Path) -> None:
    """No Python 3.11 or 3.12, or only one that does not run: one line and exit 1."""
    done = helix(tmp_path, "run", path=lonely(tmp_path, python3="exit 127"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "apt-get install -y python3 python3-venv" in done.stderr


def test_a_python_without_venv_is_named(tmp_path: Path) -> None:
    """Debian splits venv off: one line names the package of that very version."""
    half = f'case "$2" in *ensurepip*) exit 1;; *) exec {sys.executable} "$@";; esac'
    done = helix(tmp_path, "run", path=lonely(tmp_path, python3=half))
    version = ".".join(map(str, sys.version_info[:2]))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"apt-get install -y python{version}-venv" in done.stderr


def test_an_unknown_command_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, the name quoted, no traceback."""
    assert door.main(["walk"]) == 2
    assert capsys.readouterr().err == "helix: there is no command 'walk'. `./helix help` lists them.\n"


@pytest.mark.parametrize("arguments", [[], ["help"], ["--help"]])
def test_help_lists_every_command(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command stands there with what it does."""
    monkeypatch.chdir(ROOT)
    assert door.main(arguments) == 0
    listed = re.findall(r"^  ([\w-]+) +(\w.+\.)$", capsys.readouterr().out, re.MULTILINE)
    assert [name for name, _ in listed] == list(door.COMMANDS)


def test_make_offers_what_helix_offers() -> None:
    """The Makefile is a wrapper: same names, each listed by `make help`."""
    targets = re.findall(r"^([a-z-]+): ## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(targets) == set(door.COMMANDS) | {"clean"}
    assert "\npackage-%:\n\t@./helix package $*\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_missing_libraries_are_named_with_the_exact_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rights nothing is tried: the message is a line to copy."""
    monkeypatch.setattr(qt_libraries, "OFFSCREEN", {"libnowhere-helix.so.1": "libnowhere1"})
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(SetupFailed, match=r"sudo apt-get install -y --no-install-recommends libnowhere1$"):
        qt_libraries.ensure("run", {})


def test_the_display_decides_which_libraries_a_run_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offscreen needs no X11 or Wayland library; a display of that kind does."""
    monkeypatch.setattr(qt_libraries, "OFFSCREEN", {})
    monkeypatch.setattr(qt_libraries, "X11", {"libnowhere-x.so.1": "x"})
    monkeypatch.setattr(qt_libraries, "WAYLAND", {"libnowhere-w.so.1": "wayland"})
    assert qt_libraries.missing_packages("run", {}) == []
    assert qt_libraries.missing_packages("run", {"DISPLAY": ":0"}) == ["x"]
    assert qt_libraries.missing_packages("run", {"WAYLAND_DISPLAY": "wayland-0"}) == ["wayland"]


def checkout(folder: Path) -> Environment:
    """Make a folder that looks installed for tests."""
    (folder / "pyproject.toml").write_text("[project]", encoding="utf-8")
    for name in LOCKS.values():
        (folder / name).write_text("idna==3.20", encoding="utf-8")
    there = Environment(folder)
    there.python.parent.mkdir(parents=True)
    there.python.symlink_to(sys.executable)
    return there


def test_what_the_tests_need_holds_what_a_run_needs(tmp_path: Path) -> None:
    """After `make test`, `make run` has nothing to install; not the other way round."""
    there = checkout(tmp_path)
    assert not there.holds("run")
    there.mark("run")
    assert (there.holds("run"), there.holds("test")) == (True, False)
    (tmp_path / LOCKS["run"]).write_text("changed", encoding="utf-8")
    assert (there.holds("run"), there.holds("test")) == (False, False)
    there.mark("test")
    assert (there.holds("run"), there.holds("test")) == (True, True)


@pytest.mark.parametrize("changed", ["requirements-dev.txt", "pyproject.toml"])
def test_a_changed_lock_is_installed_again(tmp_path: Path, changed: str) -> None:
    """What was installed from another lock does not count."""
    there = checkout(tmp_path)
    there.mark("test")
    (tmp_path / changed).write_text("changed", encoding="utf-8")
    assert not there.holds("test")


def test_two_set_ups_take_turns(tmp_path: Path) -> None:
    """The second waits until the first is through."""
    order: list[str] = []
    entered = threading.Event()

    def second() -> None:
        entered.set()
        with Environment(tmp_path).alone():
            order.append("second")

    with Environment(tmp_path).alone():
        other = threading.Thread(target=second)
        other.start()
        assert entered.wait(5)
        other.join(0.1)
        order.append("first")
    other.join(5)
    assert order == ["first", "second"]
