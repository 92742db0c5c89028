"""./helix package static: checks of workflows, scripts, plists and the bill without running them."""

from __future__ import annotations

import plistlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.parsers.expat import ExpatError

from environment import Environment, SetupFailed, clean_environ
from macos import bundle
from release import sbom

PLACE = Path("build", "static-env")
LOCK = Path("packaging", "requirements-static.txt")
WORKFLOWS = Path(".github", "workflows")
INSIDE = Path(__file__).with_name("static_inside.py")


def build(root: Path, words: Sequence[str]) -> int:
    """Run every check, report each, and return 1 if one found something. Raise SetupFailed."""
    environment = Environment(root, str(PLACE), {"static": str(LOCK)})
    with environment.alone():
        environment.ensure("static")
    bin_ = environment.python.parent
    checks: dict[str, Callable[[], str]] = {
        "workflows: their schema": lambda: _run(
            root, bin_ / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *_workflows(root)
        ),
        "workflows: their safety": lambda: _run(
            root, bin_ / "zizmor", "--offline", "--quiet", "--no-progress", str(WORKFLOWS)
        ),
        "workflows: their scripts": lambda: _run(
            root, environment.python, str(INSIDE), "scripts", str(bin_ / "shellcheck"), *_workflows(root)
        ),
        "scripts": lambda: _run(root, bin_ / "shellcheck", *_scripts(root)),
        "property lists": lambda: "\n".join(plist_complaints(root)),
        "bill of materials": lambda: _run(
            root, environment.python, str(INSIDE), "bill", stdin=sbom.text(root)
        ),
    }
    failed = 0
    for name, check in checks.items():
        complaint = check()
        failed |= bool(complaint)
        sys.stdout.write(f"static  {name:<26} {'FAILED' if complaint else 'ok'}\n{complaint}")
        sys.stdout.flush()
    return failed


def plist_complaints(root: Path) -> list[str]:
    """Return the problems of the property lists: those in files, and the bundle's."""
    complaints = []
    for path in sorted((root / "packaging").rglob("*.plist")):
        try:
            plistlib.loads(path.read_bytes())
        except (ValueError, ExpatError) as error:
            complaints.append(f"{path.relative_to(root)} cannot be read: {error}\n")
        # The part of macOS that reads a program's entitlements accepts no comments.
        if b"<!--" in path.read_bytes():
            complaints.append(f"{path.relative_to(root)} holds a comment, which codesign refuses\n")
    keys = bundle.info_plist("1.2.3")
    if plistlib.loads(plistlib.dumps(keys)) != keys:
        complaints.append("the keys of Info.plist do not come back from a property list as they went in\n")
    return complaints


def _workflows(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in sorted((root / WORKFLOWS).glob("*.yml"))]


def _scripts(root: Path) -> list[str]:
    """Every shell script of the project, by its ending or its first line."""
    scripts = sorted((root / "packaging").rglob("*.sh"))
    return [str(path.relative_to(root)) for path in (root / "helix", root / ".ci" / "run", *scripts)]


def _run(root: Path, program: Path, *words: str, stdin: str | None = None) -> str:
    """Run a tool; return nothing if it succeeds, else its output. Raise SetupFailed."""
    line = [str(program), *words]
    try:
        done = subprocess.run(
            line, cwd=root, env=clean_environ(), input=stdin, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise SetupFailed(f"{program} does not run: {error}. Delete {PLACE} and call this again.") from error
    return f"{done.stdout}{done.stderr}".strip() + "\n" if done.returncode else ""
