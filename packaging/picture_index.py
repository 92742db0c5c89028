"""The page that shows all pictures of the screens, light and dark side by side."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

PAGE = Path(__file__).with_name("picture_index.html")
_THEMES = ("light", "dark")
_PARTS = ("tour", "states")


def write_index(out: Path, sets: Mapping[str, str], failed: Iterable[str] = ()) -> Path:
    """List all pictures of the sets in a folder on one page, say which sets lack some, and return the page.

    `sets` has the options of each set by its name. A set of another run in the same folder is listed too.
    """
    names = [*sets, *sorted(path.name for path in out.iterdir() if path.is_dir() and path.name not in sets)]
    sections = []
    links = []
    for name in names:
        pictures = {part: sorted((out / name / part).glob("*.png")) for part in _PARTS}
        count = sum(map(len, pictures.values()))
        if not count and name not in failed:
            continue
        missing = "a run failed: pictures are missing" if name in failed else ""
        links.append(f'<a href="#{html.escape(name)}">{html.escape(name)} <small>{count}</small></a>')
        sections.append(
            f'<h2 id="{html.escape(name)}">{html.escape(name)} '
            f"<small>{html.escape(sets.get(name, ''))}</small>"
            f'<strong class="failed">{missing}</strong></h2>'
        )
        for part, paths in pictures.items():
            if paths:
                sections.append(f"<h3>{part} <small>{len(paths)} pictures</small></h3>")
                sections += _screens(out, paths)
    page = PAGE.read_text(encoding="utf-8")
    index = out / "index.html"
    index.write_text(
        page.replace("{links}", "".join(links)).replace("{sections}", "\n".join(sections)), encoding="utf-8"
    )
    return index


def _screens(out: Path, paths: Iterable[Path]) -> Iterator[str]:
    """Yield a figure for each screen, with its picture in each theme."""
    for name, pictures in groupby(sorted(paths, key=_order), lambda path: _split(path)[0]):
        images = "".join(
            f'<a href="{link}" class="{_split(path)[1]}"><img loading="lazy" src="{link}" alt=""></a>'
            for path in pictures
            for link in [html.escape(path.relative_to(out).as_posix())]
        )
        caption = html.escape(name)
        yield f'<figure data-name="{caption}">{images}<figcaption>{caption}</figcaption></figure>'


def _split(path: Path) -> tuple[str, str]:
    """Return the name of a picture's screen, and its theme."""
    name, _, theme = path.stem.rpartition("-")
    return (name, theme) if theme in _THEMES else (path.stem, "")


def _order(path: Path) -> tuple[str, bool]:
    name, theme = _split(path)
    return name, theme == "dark"
