"""`./helix screenshots`: every screen and state in the sizes and appearances to look at, with an index.

Without arguments each once, light and dark: the first row of `SETS`, into build/screenshots. `--all` takes
all rows, which takes many minutes; other options make a row of their own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from picture_index import write_index
from texts import pseudo
from texts.build import COMPILED, PSEUDO, product_files, write_pseudo
from texts.extract import extract
from update_texts import LRELEASE, ROOT

FOLDER = Path("build", "screenshots")
TOUR = ("-m", "screens.tour")
"""The real window on the sample projects."""
STATES = ("-m", "tests.support.galleries.every_screen")
"""The same parts on samples, in the states that the tour does not meet: errors, waiting, long texts."""


class PictureSet(NamedTuple):
    """A folder of pictures: how the window is, and whether the states on samples are among them."""

    name: str
    options: tuple[str, ...]
    has_states: bool = True


SETS = (
    PictureSet("usual", ("--size", "1400x900")),
    PictureSet("small", ("--size", "1024x680")),
    PictureSet("large", ("--size", "2560x1440"), has_states=False),
    PictureSet("2x", ("--size", "1400x900", "--scale", "2", "--theme", "dark"), has_states=False),
    PictureSet("long-texts", ("--size", "1400x900", "--theme", "light", "--language", pseudo.LONG)),
)


def main(arguments: Sequence[str]) -> int:
    """Take the pictures; return 1 if a run failed, and still list what there is."""
    out, chosen = read_options(arguments)
    failed = [each.name for each in chosen if take(each, out)]
    index = write_index(out, {each.name: " ".join(each.options) for each in (*chosen, *SETS)}, failed)
    sys.stdout.write(f"Look at {index}\n")
    return 1 if failed else 0


def read_options(arguments: Sequence[str]) -> tuple[Path, list[PictureSet]]:
    """Return the folder of the pictures, which exists then, and the sets to take."""
    parser = argparse.ArgumentParser(prog="./helix screenshots", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--size", metavar="WxH")
    parser.add_argument("--scale", choices=("1", "2"))
    parser.add_argument("--theme", choices=("light", "dark", "both"))
    parser.add_argument("--language", type=_language, metavar="CODE", help="a language, or a catalog")
    parser.add_argument("--set", choices=[each.name for each in SETS], help="only this row")
    parser.add_argument("--all", action="store_true", help="all rows: sizes, densities, pseudo-languages")
    options = parser.parse_args(arguments)
    tour_options = [
        word
        for name in ("size", "scale", "theme", "language")
        if (value := getattr(options, name))
        for word in (f"--{name}", value)
    ]
    if bool(tour_options) + bool(options.set) + options.all > 1:
        parser.error("--set is a row of its own, and --all are all of them: leave out the other options")
    if tour_options:
        chosen = [PictureSet("own", tuple(tour_options))]
    else:
        chosen = [each for each in SETS if options.all or each.name == (options.set or SETS[0].name)]
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"{options.out} can't be used: {error.strerror}. Choose another folder with --out.")
    return options.out, chosen


def take(pictures: PictureSet, out: Path) -> bool:
    """Take one set, in place of its earlier pictures; return True if one of its runs failed."""
    folder = out / pictures.name
    for picture in (*folder.glob("tour/*.png"), *folder.glob("states/*.png")):
        picture.unlink()  # a screen that is gone would stay in the index
    options = [*map(_catalog_path, pictures.options)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "packaging"), "QT_QPA_PLATFORM": "offscreen"}
    runs = [[*TOUR, str(folder / "tour"), *options]]
    if pictures.has_states:
        runs.append([*STATES, str(folder / "states"), *options])
    sys.stdout.write(f"{pictures.name}: {' '.join(pictures.options) or 'as it is'}\n")
    sys.stdout.flush()
    # Side by side: the tour waits most of its time for what is drawn a moment later.
    started = [subprocess.Popen([sys.executable, *run], env=environ, cwd=ROOT) for run in runs]
    return sum(run.wait() != 0 for run in started) > 0


def _language(word: str) -> str:
    """Parse a language: both runs take the path of a catalog."""
    if word in pseudo.LANGUAGES:
        return word
    catalog = Path(word) if word.endswith(".qm") else ROOT / COMPILED / f"helix_{word}.qm"
    if not catalog.is_file():
        raise argparse.ArgumentTypeError(
            f"no catalog of {word!r}: it must be one of {', '.join(pseudo.LANGUAGES)}, "
            f"a language in {COMPILED.as_posix()}, or the path of a compiled catalog (.qm)"
        )
    return str(catalog.absolute())


def _catalog_path(word: str) -> str:
    """Return the compiled catalog of a pseudo-language; any other word as it is."""
    if word not in pseudo.LANGUAGES:
        return word
    catalog = ROOT / PSEUDO / f"helix_{word}.qm"
    write_pseudo(catalog.parent, extract(product_files(ROOT))[0], LRELEASE)
    return str(catalog)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
