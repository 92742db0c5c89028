"""What a person does with an installed app without its window: a turn, keys, an export."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from check.chroot import PERSON, Room
from check.model import serving
from check.table import Step, Table, Wrong

PROJECT = "project"
EXPORT = "tides.helix"
_PLACES = (".local", ".local/share", ".local/share/helix-desktop")
# What libraries keep for all programs of a person, wherever a program keeps its own.
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


def steps(room: Room, table: Table) -> None:
    """Use it as a plain user."""
    with table.step("a turn with a command, whose environment is clean") as step:
        room.run(f"mkdir {PROJECT} && echo ebb > {PROJECT}/tide.txt", user=PERSON).must()
        lines = turn(room).splitlines()
        if leaked := [line for line in lines if _LEAK.search(line)]:
            raise Wrong(f"it sees {'; '.join(leaked)}")
        step.detail = f"{len(lines)} lines of output, none of the app's own"
    with table.step("a workspace is exported to a file") as step:
        room.run(f"helix-desktop cache export --workspace {PROJECT} {EXPORT}", user=PERSON).must()
        step.detail = f"{(room.home(PERSON) / EXPORT).stat().st_size} bytes"
    with table.step("a key in a Secret Service (gnome-keyring)") as step:
        room.install("dbus", "gnome-keyring")
        line = f"dbus-run-session -- sh -c '{_UNLOCK}; helix-desktop self-check --keyring'"
        done = room.run(line, user=PERSON, limit=120).must()
        said = re.search(r"^ok +keys +(.*)$", done.output, re.MULTILINE)
        if not said:
            raise Wrong(done.output[-600:])
        kept = list((room.home(PERSON) / ".local/share/keyrings").glob("*.keyring"))
        step.detail = f"{said[1]}, in {', '.join(path.name for path in kept)}"
    with table.step("links and .helix files belong to it") as step:
        room.install("xdg-utils", "desktop-file-utils", "shared-mime-info")
        asked = ("x-scheme-handler/helix", "application/x-helix-workspace")
        told = [
            room.run(f"xdg-mime query default {kind}", user=PERSON).must().output.strip() for kind in asked
        ]
        if told != ["org.helixdesktop.HelixDesktop.desktop"] * 2:
            raise Wrong(f"{asked} belong to {told}")
        step.detail = f"{' and '.join(asked)} -> {told[0]}"


def turn(room: Room) -> str:
    """One turn against a model of our own, which has a command print its environment. Raises Wrong."""
    with serving("env") as model:
        line = (
            f"helix-desktop run --workspace {PROJECT} --trust --yes --message 'What is set?' --model small"
            f" --base-url {model.address} --window 32000"
        )
        room.run(line, user=PERSON, limit=120).must()
        outputs = "\n".join(model.outputs())
    if "PATH=" not in outputs:
        raise Wrong(f"the command did not run: {outputs[:600]}")
    return outputs


def stored(room: Room, project: str = PROJECT) -> list[str]:
    """The SHA-256 of everything in a workspace's cache, as the app lists it. Raises Wrong."""
    line = f"helix-desktop cache list --workspace {project} --json"
    return sorted(entry["digest"] for entry in json.loads(room.run(line, user=PERSON).must().output))


def kept(room: Room, before: list[str], step: Step) -> None:
    """Look for what an older build stored. Raises Wrong."""
    after = stored(room)
    if not before or after != before:
        raise Wrong(f"the cache held {before}, and now {after}")
    said = room.run(f"helix-desktop cache verify --workspace {PROJECT}", user=PERSON).must().output
    room.run(f"helix-desktop timeline --workspace {PROJECT}", user=PERSON).must()
    step.detail = f"{len(after)} entry of the cache; {said.strip()}"


def read_only(room: Room, table: Table) -> None:
    """Run it from a place that cannot be written."""
    with table.step("from a read-only /usr: self-check and a turn"), _unwritable(room):
        tried = room.run("touch /usr/lib/helix-desktop/x")
        if tried.code == 0:
            raise Wrong("/usr can be written")
        room.run("helix-desktop self-check", user=PERSON).must()
        turn(room)


def listing(room: Room) -> set[str]:
    """Everything on the disk that belongs to the person, as paths."""
    line = f"find / -xdev -user {PERSON} -not -path '/proc/*' -printf '%P\\n'"
    return set(room.run(line).output.splitlines())


def strays(new: set[str]) -> tuple[list[str], list[str]]:
    """Part what is new into what must not be there, and the caches of libraries, named."""
    home = f"home/{PERSON}/"
    wrong, caches = [], set()
    for path in new:
        inside = path.removeprefix(home)
        cache = next((name for name in CACHES if inside == name or inside.startswith(f"{name}/")), None)
        if cache:
            caches.add(f"~/{cache} ({CACHES[cache]})")
        elif inside == ".cache" or inside in _PLACES or inside.startswith(f"{_PLACES[-1]}/"):
            continue
        else:
            wrong.append(f"/{path}")
    return sorted(wrong), sorted(caches)


@contextmanager
def _unwritable(room: Room) -> Iterator[None]:
    usr = str(room.root / "usr")
    subprocess.run(["mount", "--bind", usr, usr], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", usr], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", usr], check=True)
