"""The notes of a release: its section of CHANGELOG.md. A version without one is not released."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import build_identity
from environment import SetupFailed

ROOT = Path(__file__).resolve().parents[2]
_HEADING = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d{2}-\d{2}))?[ \t]*$", re.MULTILINE)


class NotReady(Exception):
    """The release is not prepared; the message says what is missing and what to do."""


def section(changelog: str, version: str) -> str:
    """Return the text below a version's heading. Raise NotReady if heading, date or text is missing."""
    headings = list(_HEADING.finditer(changelog))
    mine = [heading for heading in headings if heading["version"] == version]
    how = f"Write it as `## [{version}] - YYYY-MM-DD` below `## [Unreleased]`."
    if len(mine) != 1:
        raise NotReady(
            f"CHANGELOG.md has {'no section' if not mine else 'two sections'} for {version}. {how}"
        )
    if not mine[0]["date"]:
        raise NotReady(f"CHANGELOG.md does not date {version}. {how}")
    after = [heading.start() for heading in headings if heading.start() > mine[0].start()]
    text = changelog[mine[0].end() : min(after, default=len(changelog))].strip()
    if not re.search(r"^- ", text, re.MULTILINE):
        raise NotReady(f"CHANGELOG.md says nothing of {version}: no line below its heading begins with `- `.")
    return f"{text}\n"


def notes(root: Path, tag: str) -> str:
    """Return the notes for a tag like v1.2.3, which must be the version of the code. Raise NotReady."""
    version = build_identity.version(root)
    if tag != f"v{version}":
        raise NotReady(
            f"the tag {tag!r} is not v{version}, which helix_desktop/__init__.py names. Make them agree."
        )
    return section((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)


def main(arguments: Sequence[str]) -> int:
    """Print the notes of a tag; 1 with the reason when the release is not prepared."""
    grammar = argparse.ArgumentParser(prog="notes", description=__doc__)
    grammar.add_argument("tag", help="v1.2.3")
    try:
        sys.stdout.write(notes(ROOT, grammar.parse_args(arguments).tag))
    except (NotReady, SetupFailed, OSError) as error:
        sys.stderr.write(f"notes: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
