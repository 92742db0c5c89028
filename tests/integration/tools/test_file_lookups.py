"""What is kept of looks at files is what a new look finds, whatever changed in between."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings

from helix_desktop.tools.shell.file_lookups import FileLookups, LookupCache
from helix_desktop.tools.shell.sandbox import SandboxScope
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sandboxes are for POSIX systems")

_STEPS = 120
_FILES = {
    ".gitconfig": ("[include]\n path = extra\n", "[user]\n name = A\n", "[user]\n token = 1\n"),
    "extra": ("[user]\n name = B\n", "[http]\n extraheader = 1\n"),
    ".netrc": ("machine", ""),
    ".cargo/bin/tool": ("1", "2"),
    ".cargo/credentials": ("key",),
    ".pyenv/lib/a": ("",),
    "libs/one/pyproject.toml": ("[project]\n", "x = '../two'\n"),
    "libs/one/.env": ("KEY=1", ""),
    "libs/two/setup.py": ("", "'../three'"),
    "libs/three/package.json": ("{}",),
    "envs/tests/pyvenv.cfg": ("home = /usr/bin\n",),
    "work/pyproject.toml": ("a = '../libs/one'\n", "a = '../libs/two'\n", "a = '../libs'\n", "\n"),
    "work/sub/Cargo.toml": ("p = '../../libs/three'\n", "p = '../../libs/other'\n"),
    "work/.git": ("gitdir: ../repository/.git/worktrees/a\n", "gitdir: ../nothing\n"),
    "repository/.git/worktrees/a/HEAD": ("ref: refs/heads/a\n",),
    "repository/.git/worktrees/a/commondir": ("../..\n", "\n"),
    "repository/.git/HEAD": ("ref: refs/heads/main\n",),
    "repository/.git/objects/info/alternates": ("/nothing\n", "\n"),
}
_LINKS = (
    (".local/bin", "../opt/programs"), ("work/dependency", "../libs/one"), (".rustup", "libs/two"),
    ("work/node_modules/pack", "../../libs/three"), ("opt", "libs"), ("libs/one/loop", "loop"),
)  # fmt: skip


class _Changes:
    """Random changes of the files in a folder, some of which put back times and sizes."""

    def __init__(self, home: Path, seed: int) -> None:
        self._home, self._random = home, Random(seed)
        kinds = (self._write, self._write, self._replace, self._link, self._remove, self._permissions)
        self._kinds: tuple[Callable[[], None], ...] = kinds

    def make_one(self) -> None:
        self._random.choice(self._kinds)()

    def _place(self, name: str) -> Path:
        place = self._home / name
        for folder in reversed(place.relative_to(self._home).parents):
            if not (self._home / folder).is_dir():
                (self._home / folder).unlink(missing_ok=True)
                (self._home / folder).mkdir()
        return place

    def _write(self) -> None:
        name, texts = self._random.choice(tuple(_FILES.items()))
        place = self._place(name)
        _clear(place)
        place.write_text(self._random.choice(texts))

    def _replace(self) -> None:
        name, texts = self._random.choice(tuple(_FILES.items()))
        place = self._place(name)
        if place.is_file():
            before = place.stat()
            place.write_text(self._random.choice(texts).ljust(before.st_size)[: before.st_size])
            os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))

    def _link(self) -> None:
        name, target = self._random.choice(_LINKS)
        place = self._place(name)
        _clear(place)
        place.symlink_to(self._random.choice((target, target, "nowhere", str(self._home / "libs"))))

    def _remove(self) -> None:
        name = self._random.choice((*_FILES, *(link for link, _ in _LINKS)))
        _clear(self._home / self._random.choice((name, os.path.dirname(name) or name)))

    def _permissions(self) -> None:
        name = self._random.choice(tuple(_FILES))
        if (self._home / name).is_file():
            (self._home / name).chmod(self._random.choice((0o600, 0o644)))


def _clear(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    elif os.path.lexists(place):
        place.unlink()


@pytest.mark.hypothesis
@pytest.mark.parametrize("seed", range(max(1, settings().max_examples // 20)))
@pytest.mark.parametrize("workspace", ["work", "."])
def test_the_scope_of_a_command_is_what_the_files_say_now(tmp_path: Path, workspace: str, seed: int) -> None:
    home = Path(os.path.realpath(tmp_path)) / "home"
    (home / "work").mkdir(parents=True)
    environ = {"PATH": f"{home}/.local/bin:{home}/.cargo/bin:/usr/bin", "VIRTUAL_ENV": f"{home}/envs/tests"}
    changes = _Changes(home, seed)

    def find(provider: SandboxProvider) -> SandboxScope:
        return provider.scope_for(Path(os.path.normpath(home / workspace)), Path("/tmp"))

    kept = SandboxProvider(home=home, environ=environ)
    scopes = set()
    for step in range(_STEPS):
        scope = find(kept)
        assert scope == find(SandboxProvider(home=home, environ=environ)), step
        scopes.add(scope)
        changes.make_one()
        (home / "work").mkdir(exist_ok=True)
    assert len(scopes) > _STEPS / 40, "of the home as the workspace few are others"


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


def test_what_did_not_change_is_not_searched_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").write_text("two")
    cache, searches = LookupCache(), 0

    def find(lookups: FileLookups) -> str:
        nonlocal searches
        searches += 1
        return lookups.text(str(tmp_path / "a.txt"))

    assert [cache.get("a", find) for _ in range(3)] == ["one"] * 3
    (tmp_path / "b.txt").write_text("three")
    assert (cache.get("a", find), searches) == ("one", 1)
    (tmp_path / "a.txt").write_text("six")
    assert (cache.get("a", find), searches) == ("six", 2)


def test_odd_files_are_read_as_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    lookups = FileLookups()
    odd = ("pipe", "loop", "nothing", "a\0b", "\udcff\ud800", "/".join("a" * 4_000), "x" * 5_000)
    for name in odd:
        path = f"{tmp_path}/{name}"
        assert (lookups.text(path), lookups.entries(path)) == ("", ())
        assert lookups.is_current()
