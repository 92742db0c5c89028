"""The set-up for Windows, under Wine: installed, clicked through, used, upgraded, removed."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from build_identity import version
from windows import setup_program
from windows.make import NAME, PLACE

from check.chroot import USER, Chroot, Chroots
from check.displays import X11_PACKAGES, keep, tail, x11
from check.model import serving
from check.table import Table, Wrong
from check.wine import PACKAGES, Windows

ROOT = Path(__file__).resolve().parents[2]
SHOTS = ROOT / "dist" / "check"
OLDER = "0.0.1"
_HOME = "C:\\users\\" + USER
_PLACE = f"{_HOME}\\AppData\\Local\\Programs\\HelixDesktop"
_PROGRAM = f"{_PLACE}\\helix-desktop.exe"
_CONSOLE = f"{_PLACE}\\helix-desktop.com"
_GONE = "lib/gone-since.txt"
_PAGE = "import ctypes; print(ctypes.windll.kernel32.GetACP())"
_ODD = "Jürgen Ω"
_DEMO_S = 45
_PAINT_S = 4
_ASK = "Get to know this project: what does it do, how is it built, and do its tests pass?"
_RUNNING = 4
_FAILED = 2
_PAGES = (("welcome", "Return"), ("license", "Return"), ("folder", "Return"))
_LEAK = re.compile(r"(PYTHON(HOME|PATH)|QT_\w+|QML\w*|HELIX_\w+|_MEI\w*)=", re.IGNORECASE)
_OURS = re.compile(r"helix", re.IGNORECASE)


def is_built() -> bool:
    """Return True if the set-up and the tree that it is made of are there."""
    return _setup_program().is_file() and (ROOT / PLACE / NAME).is_dir()


def _setup_program() -> Path:
    return ROOT / "dist" / f"HelixDesktop-{version(ROOT)}-setup.exe"


def steps(chroots: Chroots, suite: str, table: Table) -> None:
    """Check the full life of an installation in one clean system."""
    setup = _setup_program()
    if not is_built():
        with table.step("the set-up is there"):
            raise Wrong(
                f"{setup.relative_to(ROOT)} or its tree is missing. Make it:  ./helix package windows"
            )
        return
    with chroots.chroot(suite) as chroot:
        with table.step("Wine") as step:
            chroot.install(*X11_PACKAGES, *PACKAGES)
            step.detail = chroot.run("wine --version", user=USER).must().output.strip().splitlines()[-1]
        with x11(chroot) as display:
            windows = Windows(chroot, display)
            with table.step("a Windows of its own"):
                windows.make(ROOT / PLACE)
            setup_files = _setup_files(chroot, setup)
            _life(windows, table, setup_files)


def _setup_files(chroot: Chroot, setup: Path) -> tuple[str, str]:
    """Return the set-up and an older one, which had a file that is gone since, inside the chroot."""
    work = ROOT / PLACE
    tree = work / "older"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(work / NAME, tree)
    (tree / _GONE).write_text("of an older version\n", encoding="utf-8")
    older = work / "older-setup.exe"
    setup_program.make(OLDER, work, tree, older, quick=True)
    return chroot.give(setup, "setup.exe"), chroot.give(older, "older.exe")


def _life(windows: Windows, table: Table, setup_files: tuple[str, str]) -> None:
    setup, older = setup_files
    files = windows.files()
    registry = windows.registry()
    with table.step("an older version is installed without questions") as step:
        step.detail = _install(windows, older, OLDER)
    with table.step("a turn with a command makes a workspace") as step:
        step.detail = _works(windows)
    with table.step("upgrade in place: data kept, old files gone") as step:
        before = _data(windows)
        step.detail = _install(windows, setup, version(ROOT))
        if (windows.local / "Programs" / "HelixDesktop" / _GONE).exists():
            raise Wrong(f"{_GONE} of the older version is still there")
        if _data(windows) != before:
            raise Wrong("the data is not what it was")
        listed = windows.run(_console("cache", "list", "--workspace", f"{_HOME}\\project")).must()
        if "run_command" not in listed.output:
            raise Wrong(f"the workspace does not know its output any more: {listed.output}")
    _use_app(windows, table)
    _check_window(windows, table, setup)
    with table.step("removed: nothing left but the user's data") as step:
        step.detail = _remove(windows, files, registry)
    with table.step("clicked through, page by page") as step:
        step.detail = _clicked_through(windows, setup)
    with table.step("removed with clicks") as step:
        step.detail = _removed_by_clicks(windows, files)
    _refusals(windows, table, setup)


def _install(windows: Windows, setup: str, expected: str) -> str:
    """Install silently, and check what must be there; return the duration."""
    done = windows.run(f"wine {setup} /S").must()
    program = windows.local / "Programs" / "HelixDesktop" / "helix-desktop.exe"
    shortcut = windows.start_menu / "Helix Desktop.lnk"
    for path in (program, program.with_suffix(".com"), shortcut, program.with_name("uninstall.exe")):
        if not path.is_file():
            raise Wrong(f"{path.relative_to(windows.drive)} is missing")
    entries = "\n".join(sorted(windows.registry()))
    uninstall = "Software\\Microsoft\\Windows\\CurrentVersion\\Uninstall\\HelixDesktop"
    for entry in (
        f'{uninstall}: "DisplayVersion"="{expected}"',
        'Software\\Classes\\.helix: @="HelixDesktop.Workspace"',
        "Software\\Classes\\HelixDesktop.Workspace\\shell\\open\\command: @=",
    ):
        if entry not in entries:
            raise Wrong(f"the registry lacks {entry}")
    return f"{expected} in {done.seconds:.0f} s, exit code 0; menu, list of apps, .helix are there"


def _works(windows: Windows) -> str:
    """A turn against a model of our own, which has cmd.exe run a command with a background process."""
    project = f"{_HOME}\\project"
    with serving("start /b ping -n 60 127.0.0.1 >nul & echo Grüße & set") as model:
        windows.run(f"mkdir -p '{windows.inside(project)}'").must()
        words = ("run", "--workspace", project, "--trust", "--yes", "--message", "What is set?")
        arguments = (*words, "--model", "small", "--base-url", model.address, "--window", "32000")
        done = windows.run(_console(*arguments), limit=120).must()
        output = "\n".join(model.outputs())
    if "Grüße" not in output or "SYSTEMROOT=" not in output.upper():
        raise Wrong(f"the command did not run: {output[:600]}")
    if leaks := [line for line in output.splitlines() if _LEAK.match(line)]:
        raise Wrong(f"the command sees {leaks}")
    if windows.run("pgrep -x ping.exe").code == 0:
        raise Wrong("what the command left in the background still runs")
    return f"in {done.seconds:.0f} s; UTF-8, a clean environment, nothing left in the background"


def _data(windows: Windows) -> set[str]:
    place = windows.local / "helix-desktop"
    paths = {str(path.relative_to(place)) for path in place.rglob("*") if "logs" not in path.parts}
    if not any(name.endswith("/db/CURRENT") for name in paths):
        raise Wrong(f"there is no data in {place.relative_to(windows.drive)}: {paths}")
    return paths


def _use_app(windows: Windows, table: Table) -> None:
    with table.step("self-check, in a console") as step:
        done = windows.run(_console("self-check"), limit=240).must()
        step.detail = done.report_of("versions")
    with table.step("a key in the Credential Manager") as step:
        done = windows.run(_console("self-check", "--keyring"), limit=240).must()
        step.detail = done.report_of("keys")
    with table.step("self-check by the windowed program: its exit code arrives"):
        windows.run(f"wine '{_PROGRAM}' self-check", limit=240).must()
    with table.step("wrong words end with 2"):
        windows.run(_console("cache", "nonsense")).must(2)
    with table.step("the guided demo to its end") as step:
        done = windows.run(_console("demo", "--out", f"{_HOME}\\demo"), limit=1200).must()
        pictures = sorted((windows.drive / "users" / USER / "demo").glob("*.png"))
        _tests_pass(windows, f"{_HOME}\\demo")
        if not pictures:
            raise Wrong(f"no picture: {done.output[-600:]}")
        keep(next(path for path in pictures if path.stem == "chat-dark"), SHOTS / "windows-demo.png")
        step.detail = f"{len(pictures)} pictures in {done.seconds:.0f} s"
    with table.step(f"a data folder named {_ODD}") as step:
        place = f"{_HOME}\\{_ODD}"
        done = windows.run(_console("demo", "--out", place), limit=1200).must()
        step.detail = f"stores made and read below {place} in {done.seconds:.0f} s"


def _tests_pass(windows: Windows, demo: str) -> None:
    """The sample's own tests, as the demo left them: it has changed the code until they passed."""
    line = f"cd '{windows.inside(demo)}/projects/tidewatch' && {_console('sample-python', '-m', 'unittest')}"
    done = windows.run(line).must()
    if not done.output.rstrip().endswith("OK"):
        raise Wrong(f"the sample's tests: {done.output[-600:]}")


def _check_window(windows: Windows, table: Table, setup: str) -> None:
    with (
        table.step("the window with the guided sample") as step,
        windows.running(f"wine '{_PROGRAM}' --demo"),
    ):
        started = time.monotonic()
        window = windows.window("Helix Desktop")
        seconds = time.monotonic() - started
        windows.window("tidewatch", 120)
        time.sleep(3 * _PAINT_S)
        windows.run(f"xdotool windowactivate --sync {window} type --delay 20 '{_ASK}'", limit=60).must()
        windows.press(window, "Return")
        time.sleep(_DEMO_S)
        windows.display.picture(SHOTS / "windows-window.png")
        step.detail = f"after {seconds:.1f} s; dist/check/windows-window.png"
        _second_start(windows, table, window)
        with table.step("set-up and uninstaller refuse while it runs"):
            windows.run(f"wine {setup} /S").must(_RUNNING)
            windows.run(f"wine '{_PLACE}\\uninstall.exe' /S '_?={_PLACE}'").must(_RUNNING)
            if not (windows.local / "Programs" / "HelixDesktop" / "python312.dll").is_file():
                raise Wrong("they have changed something")


def _second_start(windows: Windows, table: Table, window: str) -> None:
    with table.step("a second start shows the first window") as step:
        before = windows.windows("Helix Desktop")
        windows.run(f"xdotool windowminimize --sync {window}")
        done = windows.run(f"wine '{_PROGRAM}'", limit=60).must()
        time.sleep(2)
        if windows.windows("Helix Desktop") != before:
            raise Wrong(f"windows {before} became {windows.windows('Helix Desktop')}: {tail(windows.log)}")
        step.detail = f"in {done.seconds:.1f} s, then it ended"


def _remove(windows: Windows, files: set[str], registry: set[str]) -> str:
    """Remove silently, and compare with the state before the installation."""
    done = windows.run(f"wine '{_PLACE}\\uninstall.exe' /S").must()
    windows.settle()
    left = _left_files(windows, files)
    keys = {entry for entry in windows.registry() - registry if _OURS.search(entry)}
    strange = {entry for entry in keys if "Credential" not in entry and not _of_wine(entry)}
    if left or strange:
        raise Wrong(f"left: {sorted(left)[:10]} {sorted(strange)[:10]}")
    count = sum(1 for path in (windows.local / "helix-desktop").rglob("*") if path.is_file())
    if not count:
        raise Wrong("the user's data is gone, too")
    return f"in {done.seconds:.0f} s; {count} files of data kept, no other file, no key of the registry"


def _of_wine(entry: str) -> bool:
    """Whether Wine wrote an entry by itself: fonts it found, programs it has opened, menus it mirrors."""
    return entry.startswith(("Software\\Wine\\", "Software\\Microsoft\\Windows\\Shell\\"))


def _left_files(windows: Windows, files: set[str]) -> set[str]:
    home = f"users/{USER}/"
    data = f"{home}AppData/Local/helix-desktop"
    own = tuple(f"{home}{name}" for name in ("project", "backup", "demo", _ODD))
    leftovers = {path for path in windows.files() - files if not path.startswith((data, *own))}
    # Folders that Windows itself has, and that Wine makes when they are first used.
    return {path for path in leftovers if (windows.drive / path).is_file() or _OURS.search(path)}


def _clicked_through(windows: Windows, setup: str) -> str:
    with windows.running(f"wine {setup}"):
        for name, key in _PAGES:
            window = windows.window("Helix Desktop Setup")
            windows.display.picture(SHOTS / f"windows-setup-{name}.png")
            windows.press(window, key)
        uninstaller = windows.local / "Programs" / "HelixDesktop" / "uninstall.exe"
        _until(windows, uninstaller.is_file, "windows-setup-stuck.png")
        windows.display.picture(SHOTS / "windows-setup-finished.png")
        windows.press(windows.window("Helix Desktop Setup"), "Return")
        # The last page offers to start it, and that is selected.
        windows.window("^Helix Desktop$", 90)
        time.sleep(2 * _PAINT_S)
        windows.display.picture(SHOTS / "windows-first-start.png")
    return "5 pages and the first start, dist/check/windows-setup-*.png, windows-first-start.png"


def _until(windows: Windows, true: Callable[[], bool], stuck: str, patience_s: float = 120) -> None:
    end = time.monotonic() + patience_s
    while not true():
        if time.monotonic() > end:
            windows.display.picture(SHOTS / stuck)
            raise Wrong(f"nothing happened; dist/check/{stuck}")
        time.sleep(0.5)
    time.sleep(_PAINT_S)


def _removed_by_clicks(windows: Windows, files: set[str]) -> str:
    with windows.running(f"wine '{_PLACE}\\uninstall.exe'"):
        window = windows.window("Helix Desktop Uninstall")
        windows.display.picture(SHOTS / "windows-uninstall.png")
        windows.press(window, "Return")
        program = windows.local / "Programs" / "HelixDesktop"
        _until(windows, lambda: not program.exists(), "windows-uninstall-stuck.png")
        windows.display.picture(SHOTS / "windows-uninstalled.png")
        windows.press(windows.window("Helix Desktop Uninstall"), "Return")
        if windows.windows("Helix Desktop Uninstall"):
            raise Wrong("the last page does not close")
    if left := _left_files(windows, files):
        raise Wrong(f"left: {sorted(left)[:10]}")
    return "2 pages, dist/check/windows-uninstall*.png"


def _refusals(windows: Windows, table: Table, setup: str) -> None:
    with table.step("a folder with other things in it is refused"):
        windows.run(f"wine {setup} /S '/D={_HOME}\\demo'").must(_FAILED)
    with table.step("the folder of another program is refused, and left as it is"):
        other = windows.inside(f"{_HOME}\\other")
        windows.run(f"mkdir -p '{other}' && touch '{other}/uninstall.exe' '{other}/python312.dll'").must()
        windows.run(f"wine {setup} /S '/D={_HOME}\\other'").must(_FAILED)
        windows.run(f"test ! -s '{other}/python312.dll'").must()
    with table.step("the folder of the data is refused"):
        windows.run(f"wine {setup} /S '/D={_HOME}\\AppData\\Local\\helix-desktop'").must(_FAILED)
    with table.step(f"a folder named {_ODD} is taken, and works") as step:
        place = f"{_HOME}\\{_ODD.replace(' ', '')}"  # Wine quotes spaces, which NSIS takes literally
        windows.run(f"wine {setup} /S '/D={place}'").must()
        done = windows.run(f"wine '{place}\\helix-desktop.com' self-check", limit=240).must()
        step.detail = done.report_of("resources")
        page = windows.run(f"wine '{place}\\helix-desktop.com' sample-python -c '{_PAGE}'").must()
        step.detail += f"; code page {page.output.split()[-1]}"
        windows.run(f"wine '{place}\\uninstall.exe' /S '_?={place}'").must()


def _console(*words: str) -> str:
    """A line of shell that runs the program for consoles."""
    return " ".join(["wine", f"'{_CONSOLE}'", *(f"'{word}'" for word in words)])
