"""The use of an installed app without its window: a turn, keys, an export."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from check.chroot import USER, Chroot
from check.model import serving
from check.table import Step, Table, Wrong

PROJECT = "project"
EXPORT = "tides.helix"
_PLACES = (".local", ".local/share", ".local/share/helix-desktop")
# Files that libraries store for all programs of a user, wherever a program stores its own.
CACHES = {
    ".cache/fontconfig": "fontconfig",
    ".cache/mesa_shader_cache": "Mesa",
    ".cache/mesa_shader_cache_db": "Mesa",
    ".cache/qtshadercache": "Qt",
    ".cache/qt_compose_cache": "Qt",
    ".config/dconf": "dconf",
}
_LEAK = re.compile(
    r"^(?:_?PYI\w*|_MEI\w*|\w*_ORIG|LD_\w+|QT_PLUGIN_PATH|QML\w*|PYTHON(?:HOME|PATH)|FONTCONFIG\w*|GIO_\w+)="
    r"|/usr/lib/helix-desktop",
)
_UNLOCK = "printf secret | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1"


def steps(chroot: Chroot, table: Table) -> None:
    """Use it as a plain user."""
    with table.step("a turn with a command, whose environment is clean") as step:
        chroot.run(f"mkdir {PROJECT} && echo ebb > {PROJECT}/tide.txt", user=USER).must()
        lines = turn(chroot).splitlines()
        if leaked := [line for line in lines if _LEAK.search(line)]:
            raise Wrong(f"it sees {'; '.join(leaked)}")
        step.detail = f"{len(lines)} lines of output, none of the app's own"
    with table.step("a workspace is exported to a file") as step:
        chroot.run(f"helix-desktop cache export --workspace {PROJECT} {EXPORT}", user=USER).must()
        step.detail = f"{(chroot.home(USER) / EXPORT).stat().st_size} bytes"
    with table.step("a key in a Secret Service (gnome-keyring)") as step:
        chroot.install("dbus", "gnome-keyring")
        line = f"dbus-run-session -- sh -c '{_UNLOCK}; helix-desktop self-check --keyring'"
        done = chroot.run(line, user=USER, limit=120).must()
        report = done.report_of("keys")
        keyrings = list((chroot.home(USER) / ".local/share/keyrings").glob("*.keyring"))
        step.detail = f"{report}, in {', '.join(path.name for path in keyrings)}"
    with table.step(".helix files belong to it") as step:
        chroot.install("xdg-utils", "desktop-file-utils", "shared-mime-info")
        kind = "application/x-helix-workspace"
        handler = chroot.run(f"xdg-mime query default {kind}", user=USER).must().output.strip()
        if handler != "org.helixdesktop.HelixDesktop.desktop":
            raise Wrong(f"{kind} belongs to {handler!r}")
        step.detail = f"{kind} -> {handler}"


def turn(chroot: Chroot) -> str:
    """One turn against a model of our own, which has a command print its environment. Raises Wrong."""
    with serving("env") as model:
        line = (
            f"helix-desktop run --workspace {PROJECT} --trust --yes --message 'What is set?' --model small"
            f" --base-url {model.address} --window 32000"
        )
        chroot.run(line, user=USER, limit=120).must()
        outputs = "\n".join(model.outputs())
    if "PATH=" not in outputs:
        raise Wrong(f"the command did not run: {outputs[:600]}")
    return outputs


def stored_digests(chroot: Chroot, project: str = PROJECT) -> list[str]:
    """The SHA-256 of everything in a workspace's cache, as the app lists it. Raises Wrong."""
    line = f"helix-desktop cache list --workspace {project} --json"
    return sorted(entry["digest"] for entry in json.loads(chroot.run(line, user=USER).must().output))


def check_stored(chroot: Chroot, before: list[str], step: Step) -> None:
    """Check the data that an older build stored. Raise Wrong."""
    after = stored_digests(chroot)
    if not before or after != before:
        raise Wrong(f"the cache held {before}, and now {after}")
    report = chroot.run(f"helix-desktop cache verify --workspace {PROJECT}", user=USER).must().output
    chroot.run(f"helix-desktop timeline --workspace {PROJECT}", user=USER).must()
    step.detail = f"{len(after)} entry of the cache; {report.strip()}"


def read_only(chroot: Chroot, table: Table) -> None:
    """Run it from a place that cannot be written."""
    with table.step("from a read-only /usr: self-check and a turn"), _unwritable(chroot):
        tried = chroot.run("touch /usr/lib/helix-desktop/x")
        if tried.code == 0:
            raise Wrong("/usr can be written")
        chroot.run("helix-desktop self-check", user=USER).must()
        turn(chroot)


def listing(chroot: Chroot) -> set[str]:
    """Return the paths of everything on the disk that belongs to the user."""
    line = f"find / -xdev -user {USER} -not -path '/proc/*' -printf '%P\\n'"
    return set(chroot.run(line).output.splitlines())


def strays(new: set[str]) -> tuple[list[str], list[str]]:
    """Separate new files into those that must not be there, and the caches of libraries, named."""
    home = f"home/{USER}/"
    wrong = []
    caches = set()
    for path in new:
        inside = path.removeprefix(home)
        cache = next((name for name in CACHES if inside == name or inside.startswith(f"{name}/")), None)
        if cache:
            caches.add(f"~/{cache} ({CACHES[cache]})")
        elif re.fullmatch(r"tmp/helix-desktop-\d+", path):
            continue  # the empty parent of all temporary folders: removing it would race with other runs
        elif inside == ".cache" or inside in _PLACES or inside.startswith(f"{_PLACES[-1]}/"):
            continue
        else:
            wrong.append(f"/{path}")
    return sorted(wrong), sorted(caches)


@contextmanager
def _unwritable(chroot: Chroot) -> Iterator[None]:
    usr = str(chroot.root / "usr")
    subprocess.run(["mount", "--bind", usr, usr], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", usr], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", usr], check=True)
