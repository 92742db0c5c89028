"""Looks at files find what the system does, and of odd files nothing."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from helix_desktop.tools.shell.file_lookups import FileLookups, read_text

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sandboxes are for POSIX systems")


@pytest.mark.parametrize("seed", range(20))
def test_links_are_resolved_as_the_system_does(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    top = Path(os.path.realpath(tmp_path))
    names = ["a", "b", "c", "d"]
    for _ in range(12):
        place = top.joinpath(*random.choices(names, k=random.randint(1, 3)))
        if place.parent.is_dir() and not os.path.lexists(place):
            target = "/".join(random.choices([*names, "..", "."], k=random.randint(1, 4)))
            if random.random() < 0.5:
                place.mkdir()
            else:
                place.symlink_to(target if random.random() < 0.7 else top / target)
    lookups = FileLookups()
    for _ in range(300):
        path = f"{top}/{'/'.join(random.choices([*names, '..', '.', ''], k=random.randint(1, 5)))}"
        if os.path.exists(path):
            assert lookups.mode(path) == os.stat(path).st_mode, path
            assert lookups.real_path(path) == os.path.realpath(path), path
        elif lookups.mode(path):  # by leaving out `nothing/..`, as in `os.path.realpath`
            assert lookups.real_path(path) == os.path.realpath(path), path


def test_odd_files_are_read_as_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    lookups = FileLookups()
    odd = ("pipe", "loop", "nothing", "a\0b", "\udcff\ud800", "/".join("a" * 4_000), "x" * 5_000)
    for name in odd:
        path = f"{tmp_path}/{name}"
        assert (read_text(path), lookups.entries(path)) == ("", ())
        assert not lookups.is_file(path)
        assert lookups.real_path(path)
