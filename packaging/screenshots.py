"""`./helix screenshots`: every screen and state in the sizes and appearances to look at, with an index.

Without arguments, all rows of `SETS` into build/screenshots, several minutes; with options, one such row.
"""

from __future__ import annotations

import argparse
import html
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from texts import pseudo
from texts.build import PSEUDO, product_texts, write_pseudo
from update_texts import LRELEASE, ROOT

FOLDER = Path("build", "screenshots")
TOUR = ("-m", "helix_desktop", "screenshots", "--out")
"""The real window on the sample projects."""
STATES = ("-m", "tests.support.galleries.screen_pictures")
"""The same parts on samples, in the states that the tour does not meet: errors, waiting, long texts."""
_THUMB_PX = 420


class PictureSet(NamedTuple):
    """A folder of pictures: how the window is, and whether the states on samples are among them."""

    name: str
    options: tuple[str, ...]
    has_states: bool = True


SETS = (
    PictureSet("usual", ("--size", "1400x900")),
    PictureSet("small", ("--size", "1024x680")),
    PictureSet("large", ("--size", "2560x1440", "--theme", "light"), has_states=False),
    PictureSet("2x", ("--size", "1400x900", "--scale", "2", "--theme", "dark"), has_states=False),
    PictureSet("long-texts", ("--size", "1400x900", "--theme", "light", "--language", pseudo.LONG)),
)


def main(arguments: Sequence[str]) -> int:
    """Take the pictures; return 1 if a run failed, and still list what there is."""
    parser = argparse.ArgumentParser(prog="./helix screenshots", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--size", metavar="WxH")
    parser.add_argument("--scale", choices=("1", "2"))
    parser.add_argument("--theme", choices=("light", "dark", "both"))
    parser.add_argument("--language", metavar="CODE", help=f"{pseudo.LONG}, {pseudo.CHINESE}, or a catalog")
    parser.add_argument("--set", choices=[each.name for each in SETS], help="only this row of the matrix")
    options = parser.parse_args(arguments)
    tour_options = [
        word
        for name in ("size", "scale", "theme", "language")
        if (value := getattr(options, name))
        for word in (f"--{name}", value)
    ]
    sets = (PictureSet("own", tuple(tour_options)),) if tour_options else SETS
    failed = sum(take(each, options.out) for each in sets if options.set in (None, each.name))
    write_index(options.out)
    sys.stdout.write(f"Look at {options.out / 'index.html'}\n")
    return 1 if failed else 0


def take(pictures: PictureSet, out: Path) -> int:
    """Take one set; return how many of its two runs failed."""
    folder = out / pictures.name
    options = [*map(_catalog_path, pictures.options)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "packaging"), "QT_QPA_PLATFORM": "offscreen"}
    runs = [[*TOUR, str(folder / "tour"), *options]]
    if pictures.has_states:
        runs.append([*STATES, str(folder / "states"), *options])
    sys.stdout.write(f"{pictures.name}: {' '.join(pictures.options) or 'as it is'}\n")
    sys.stdout.flush()
    # Side by side: the tour waits most of its time for what is drawn a moment later.
    started = [subprocess.Popen([sys.executable, *run], env=environ, cwd=ROOT) for run in runs]
    return sum(run.wait() != 0 for run in started)


def _catalog_path(word: str) -> str:
    """Return the compiled catalog of a pseudo-language; any other word as it is."""
    if word not in (pseudo.LONG, pseudo.CHINESE):
        return word
    catalog = ROOT / PSEUDO / f"helix_{word}.qm"
    write_pseudo(catalog.parent, product_texts(ROOT)[0], LRELEASE)
    return str(catalog)


def write_index(out: Path) -> None:
    """List all pictures of a folder on one page, small, each a link to itself."""
    parts = [
        '<!doctype html><meta charset="utf-8"><title>Helix Desktop: every screen</title>',
        "<style>body{font:14px sans-serif;margin:24px;background:#888}figure{display:inline-block;margin:8px;"
        f"vertical-align:top;width:{_THUMB_PX}px}}img{{max-width:100%;max-height:{_THUMB_PX}px}}</style>",
    ]
    for folder in sorted({path.parent for path in out.rglob("*.png") if "projects" not in path.parts}):
        pictures = sorted(folder.glob("*.png"))
        if "data" in folder.parts:
            continue
        where = folder.relative_to(out).as_posix()
        parts.append(f"<h2>{html.escape(where)} ({len(pictures)})</h2>")
        for path in pictures:
            link = html.escape(path.relative_to(out).as_posix())
            parts.append(
                f'<figure><a href="{link}"><img loading="lazy" src="{link}" alt=""></a>'
                f"<figcaption>{html.escape(path.stem)}</figcaption></figure>"
            )
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
