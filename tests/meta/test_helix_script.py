"""The `helix` script: commands, clear refusals, and one-time set-up."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import venv
from pathlib import Path

import commands
import leveldb
import pytest
import qt_libraries
from check.static import LOCK as STATIC_LOCK
from distribution import INSTALL, SystemPart, install_line, known_pythons, system_parts
from environment import LOCKS, Environment, SetupFailed, lock_entries, read_lock
from package_environment import LOCK as PACKAGE_LOCK

from helix_desktop import __version__

ROOT = Path(__file__).resolve().parents[2]
DEBIAN_12 = 'ID=debian\nVERSION_ID="12"\n'
DEBIAN_13 = 'ID=debian\nVERSION_ID="13"\n'
MINT = 'ID=linuxmint\nVERSION_ID="22"\nID_LIKE="ubuntu debian"\n'
FEDORA = "ID=fedora\nVERSION_ID=43\n"
ARCH = "ID=arch\n"
GENTOO = "ID=gentoo\n"


def helix(
    folder: Path, *arguments: str, path: str, system: str = DEBIAN_12, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Call the helix script of `folder` with `path` as its only places for programs, as if on `system`."""
    (folder / "os-release").write_text(system, encoding="utf-8")
    return subprocess.run(
        ["/bin/sh", str(folder / "helix"), *arguments],
        env={"PATH": path, "HELIX_OS_RELEASE": str(folder / "os-release"), **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def minimal_folder(folder: Path, **programs: str) -> str:
    """Make a folder for programs with only dirname and the given scripts."""
    place = folder / "bin"
    place.mkdir()
    (place / "dirname").symlink_to(shutil.which("dirname") or "/usr/bin/dirname")
    for name, script in programs.items():
        (place / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (place / name).chmod(0o755)
    shutil.copy(ROOT / "helix", folder)
    (folder / "packaging").mkdir()
    for name in ("no_python.sh", "system-packages.txt", "system-pythons.txt"):
        shutil.copy(ROOT / "packaging" / name, folder / "packaging")
    return str(place)


APT = "sudo apt-get install -y --no-install-recommends"


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (DEBIAN_12, f"{APT} python3 python3-venv libgl1 "),
        (DEBIAN_13, f"{APT} python3 python3-venv python3-plyvel libgl1 "),
        (MINT, f"{APT} python3 python3-venv libgl1 "),
        (FEDORA, "sudo dnf install -y python3.12 'libGL.so.1()(64bit)' "),
        (ARCH, "sudo pacman -S --needed --noconfirm uv libglvnd libxkbcommon "),
        (GENTOO, "Install 3.12 with uv (uv python install 3.12) or pyenv"),
        ("", "Install 3.12 with uv (uv python install 3.12) or pyenv"),
    ],
    ids=["debian-12", "debian-13", "mint", "fedora", "arch", "gentoo", "nameless"],
)
def test_without_any_python_one_line_names_what_to_install(
    tmp_path: Path, system: str, expected: str
) -> None:
    """No suitable Python, or only one that does not run: one line with all that is needed, and exit 1."""
    done = helix(tmp_path, "run", path=minimal_folder(tmp_path, python3="exit 127"), system=system)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert expected in done.stderr
    assert "libxcb" not in done.stderr


def test_the_display_and_the_command_decide_the_packages(tmp_path: Path) -> None:
    """A run on a display needs its libraries, a test X11's and Xvfb, a check of types none."""
    path = minimal_folder(tmp_path)
    assert "libxcb-cursor0" in helix(tmp_path, "run", path=path, DISPLAY=":0").stderr
    assert "libwayland-egl1" in helix(tmp_path, "run", path=path, WAYLAND_DISPLAY="wayland-0").stderr
    assert helix(tmp_path, "test", path=path).stderr.endswith(
        " libx11-xcb1 xvfb git dbus at-spi2-core bubblewrap xdotool openbox imagemagick\n"
    )
    assert helix(tmp_path, "check", path=path).stderr.endswith(" python3 python3-venv\n")


def test_an_unsupported_python_is_named(tmp_path: Path) -> None:
    """Where the system's own Python is too new, its package does not help: the line names one that does."""
    done = helix(
        tmp_path,
        "run",
        path=minimal_folder(tmp_path, python3='case "$2" in *exit*) exit 1;; *) echo 3.14;; esac'),
    )
    assert done.returncode == 1
    assert (
        "Python 3.11, 3.12 or 3.13 with venv is required; the system has 3.14. Install 3.12 with uv"
        in done.stderr
    )


def test_root_without_apt_gets_the_same_line_without_sudo(tmp_path: Path) -> None:
    """Root needs no sudo; without apt nothing is tried."""
    done = helix(tmp_path, "run", path=minimal_folder(tmp_path, id="echo 0"))
    assert done.returncode == 1
    assert "then run this again:  apt-get install" in done.stderr


def test_root_with_apt_installs_the_packages(tmp_path: Path) -> None:
    """As root on Debian, Python is installed automatically; what still does not run is reported."""
    path = minimal_folder(tmp_path, id="echo 0", **{"apt-get": f'echo "$@" >> {tmp_path}/called'})
    done = helix(tmp_path, "run", path=path)
    called = (tmp_path / "called").read_text(encoding="utf-8").splitlines()
    assert called[0].startswith("update ")
    assert called[1].startswith("install -y --no-install-recommends python3 python3-venv libgl1 ")
    assert "Still no Python" in done.stderr
    assert done.returncode == 1


def test_a_python_without_venv_is_named(tmp_path: Path) -> None:
    """Debian splits venv off: one line names the package of that very version."""
    half = f'case "$2" in *ensurepip*) exit 1;; *) exec {sys.executable} "$@";; esac'
    done = helix(tmp_path, "run", path=minimal_folder(tmp_path, python3=half))
    version = ".".join(map(str, sys.version_info[:2]))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"{APT} python{version}-venv libgl1 " in done.stderr


def test_an_unknown_command_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["walk"]) == 2
    assert capsys.readouterr().err == "helix: Unknown command: 'walk'. `./helix help` lists the commands.\n"


@pytest.mark.parametrize("arguments", [[], ["help"], ["--help"]])
def test_help_lists_every_command(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert commands.main(arguments) == 0
    listed = re.findall(r"^  ([\w-]+) +(\w.+\.)$", capsys.readouterr().out, re.MULTILINE)
    assert [name for name, _ in listed] == list(commands.COMMANDS)


def test_make_offers_the_same_commands_as_helix() -> None:
    """The Makefile is a wrapper: same names, each listed by `make help`."""
    targets = re.findall(r"^([a-z-]+): ## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(targets) == set(commands.COMMANDS) | {"clean"}
    assert "\npackage-%:\n\t@./helix package $*\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


def require_missing_library(monkeypatch: pytest.MonkeyPatch, system: dict[str, str]) -> None:
    names = (
        SystemPart("offscreen", "libnowhere-helix.so.1", "libnowhere1", "nowhere"),
        SystemPart("x11", "libnowhere-x.so.1", "x", "nowhere-x"),
        SystemPart("wayland", "libnowhere-w.so.1", "wayland", "nowhere-w"),
        SystemPart("test", "no-such-program", "program", "nowhere-program"),
    )
    monkeypatch.setattr(qt_libraries, "system_parts", lambda: names)
    monkeypatch.setattr(qt_libraries, "os_release", lambda: system)


@pytest.mark.parametrize(
    ("system", "line"),
    [
        ({"ID": "debian", "VERSION_ID": "12"}, f"{APT} libnowhere1"),
        ({"ID": "fedora"}, "sudo dnf install -y 'libnowhere-helix.so.1()(64bit)'"),
        ({"ID": "opensuse-leap"}, "sudo zypper --non-interactive install 'libnowhere-helix.so.1()(64bit)'"),
        ({"ID": "manjaro", "ID_LIKE": "arch"}, "sudo pacman -S --needed --noconfirm nowhere"),
        ({"ID": "gentoo"}, "Install what Debian calls libnowhere1."),
    ],
)
def test_missing_libraries_are_named_with_the_exact_command(
    monkeypatch: pytest.MonkeyPatch, system: dict[str, str], line: str
) -> None:
    """Without privileges nothing is tried: the message is a line to copy, with the system's own command."""
    require_missing_library(monkeypatch, system)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(SetupFailed, match=f"{re.escape(line)}$"):
        qt_libraries.ensure("run", {})


def test_the_display_decides_which_libraries_a_run_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offscreen needs no X11 or Wayland library; a display of that kind does."""
    require_missing_library(monkeypatch, {"ID": "debian"})
    assert qt_libraries.missing_packages("run", {}) == ["libnowhere1"]
    assert qt_libraries.missing_packages("run", {"DISPLAY": ":0"}) == ["libnowhere1", "x"]
    assert qt_libraries.missing_packages("run", {"WAYLAND_DISPLAY": "w"}) == ["libnowhere1", "wayland"]
    assert qt_libraries.missing_packages("test", {}) == ["libnowhere1", "x", "program"]


def test_the_doctor_names_what_is_missing_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each package once, as a line to copy, and exit 1; a lock that is not installed yet is no fault."""
    require_missing_library(monkeypatch, {"ID": "debian", "VERSION_ID": "12"})
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert commands.main(["doctor"]) == 1
    assert f"\nTo install what is missing:\n  {APT} libnowhere1 x program\n" in capsys.readouterr().out
    monkeypatch.setattr(qt_libraries, "system_parts", tuple)
    assert commands.main(["doctor"]) == 0


def test_the_facts_about_systems_can_be_read() -> None:
    """Every library has a package everywhere; a known system has a line, or none."""
    assert {part.when for part in system_parts()} == {"offscreen", "x11", "wayland", "test"}
    for manager in INSTALL:
        assert all(part.package(manager) for part in system_parts())
    assert known_pythons({"ID": "debian", "VERSION_ID": "11"}) == ("none", [])
    assert install_line("none", []) == ""
    assert known_pythons({"ID": "ubuntu", "VERSION_ID": "22.04"}) == (
        "apt",
        ["python3.11", "python3.11-venv"],
    )
    assert known_pythons({"ID": "pop", "VERSION_ID": "22.04", "ID_LIKE": "ubuntu debian"})[0] == "apt"


def test_what_is_installed_from_a_lock_is_all_of_it() -> None:
    """Its entries are installed in two parts; none is left out."""
    for path in (*map(Path, LOCKS.values()), PACKAGE_LOCK, STATIC_LOCK):
        lock = read_lock(ROOT / path)
        assert "".join(lock_entries(lock)) == lock


def test_from_python_3_13_on_the_lock_leaves_out_the_binding() -> None:
    """PyPI has no wheel of it there; nothing else of the lock is left out."""
    assert leveldb.has_wheel(sys.executable) == (sys.version_info[:2] < (3, 13))
    for name in LOCKS.values():
        lock = read_lock(ROOT / name)
        rest = leveldb.without_binding(lock)
        names, left = (set(re.findall(r"^([\w.-]+)==", text, re.MULTILINE)) for text in (lock, rest))
        assert names - left == {"plyvel", "plyvel-ci"}
        assert set(rest.splitlines()) < set(lock.splitlines())


def test_the_systems_binding_is_linked_into_an_environment(tmp_path: Path) -> None:
    """Folder, metadata and terms, and a second time too."""
    binding = leveldb.of_system(sys.executable)
    packages = tmp_path / "lib" / "python3.13" / "site-packages"
    packages.mkdir(parents=True)
    for _ in range(2):
        leveldb.link(binding, tmp_path)
    assert (packages / "plyvel" / "__init__.py").is_file()
    (distribution,) = importlib.metadata.distributions(name="plyvel", path=[str(packages)])
    assert distribution.version == binding.version
    assert (
        "Redistribution and use" in (packages / f"plyvel-{binding.version}.dist-info" / "LICENSE").read_text()
    )


def test_a_python_without_the_binding_is_reported(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\necho '[]'\n", encoding="utf-8")
    bare.chmod(0o755)
    with pytest.raises(leveldb.NotThere, match=rf"{re.escape(str(bare))} has no plyvel"):
        leveldb.of_system(str(bare))


def checkout(folder: Path) -> Environment:
    (folder / "pyproject.toml").write_text("[project]", encoding="utf-8")
    (folder / LOCKS["run"]).write_text("idna==3.20\n", encoding="utf-8")
    (folder / LOCKS["test"]).write_text(f"-r {LOCKS['run']}\npytest==9.2.0\n", encoding="utf-8")
    there = Environment(folder)
    there.python.parent.mkdir(parents=True)
    there.python.symlink_to(sys.executable)
    return there


def test_installing_for_tests_covers_a_run(tmp_path: Path) -> None:
    """After `make test`, `make run` has nothing to install; not the other way round."""
    there = checkout(tmp_path)
    assert not there.holds("run")
    there.mark("run")
    assert (there.holds("run"), there.holds("test")) == (True, False)
    (tmp_path / LOCKS["run"]).write_text("changed", encoding="utf-8")
    assert (there.holds("run"), there.holds("test")) == (False, False)
    there.mark("test")
    assert (there.holds("run"), there.holds("test")) == (True, True)


def test_the_command_of_a_checkout_starts_the_app_from_there(tmp_path: Path) -> None:
    """`.venv/bin/helix-desktop` works from everywhere, and runs no module of the folder it is called in."""
    here = Environment(ROOT, str(tmp_path / "an environment"))
    venv.create(tmp_path / "an environment")
    (packages,) = (tmp_path / "an environment" / "lib").glob("python3.*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    (tmp_path / "argparse.py").write_text("raise SystemExit('not mine')", encoding="utf-8")
    assert not here.has_command
    here.link_command()
    assert here.has_command
    (tmp_path / "helix").symlink_to(here.command)
    done = subprocess.run(
        [tmp_path / "helix", "--version"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (f"Helix Desktop {__version__} (from source)\n", "")
    moved = Environment(tmp_path, "an environment")
    assert not moved.has_command, "the checkout was moved: it is linked again"


def test_the_environment_of_another_checkout_is_left_alone(tmp_path: Path) -> None:
    """A worktree in which it is linked says so; set-up would make the other one start the worktree's app."""
    main, worktree, moved = (tmp_path / name for name in ("main", "worktree", "moved"))
    for folder in (main, worktree):
        folder.mkdir()
        (folder / "helix").touch()
    own = checkout(main)
    packages = main / ".venv" / "lib" / "python3.12" / "site-packages"
    packages.mkdir(parents=True)
    own.link_command()
    own.require_own()
    (worktree / ".venv").symlink_to(main / ".venv")
    there = Environment(worktree)
    with pytest.raises(SetupFailed, match=re.escape(f"another checkout ({main})")):
        there.require_own()
    there.link_command()
    with pytest.raises(SetupFailed, match=re.escape(f"another checkout ({main})")):
        there.require_own()
    (main / ".venv").rename(moved)
    (worktree / ".venv").unlink()
    (worktree / ".venv").symlink_to(moved)
    there.require_own()


@pytest.mark.parametrize("changed", ["requirements.txt", "requirements-dev.txt", "pyproject.toml"])
def test_a_changed_lock_is_reinstalled(tmp_path: Path, changed: str) -> None:
    there = checkout(tmp_path)
    there.mark("test")
    (tmp_path / changed).write_text("changed", encoding="utf-8")
    assert not there.holds("test")


def test_two_set_ups_run_one_after_the_other(tmp_path: Path) -> None:
    order: list[str] = []
    entered = threading.Event()

    def second() -> None:
        entered.set()
        with Environment(tmp_path).alone():
            order.append("second")

    with Environment(tmp_path).alone():
        other = threading.Thread(target=second)
        other.start()
        assert entered.wait(60)
        other.join(0.1)
        order.append("first")
    other.join(60)
    assert order == ["first", "second"]
