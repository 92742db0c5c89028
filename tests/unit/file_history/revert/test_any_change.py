"""Any change of any tree is taken back, and done again: every byte, permission, link and empty folder."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.system import folders
from tests.support.revert_rig import RevertRig, change_everything

names = st.sampled_from(["a", "b", "A", "é", "a b"])
entries = st.one_of(
    st.tuples(st.just("file"), st.sampled_from(["", "x", "x\ny\n", "\0"]), st.sampled_from([0o600, 0o755])),
    st.tuples(st.just("link"), st.sampled_from(["a", "b/a", "../out"]), st.just(0)),
)
trees = st.recursive(
    entries,
    lambda below: st.tuples(
        st.just("folder"), st.dictionaries(names, below, max_size=3), st.sampled_from([0o700, 0o755, 0o1777])
    ),
    max_leaves=8,
)
roots = st.dictionaries(names, trees, max_size=4)

Tree = dict[str, tuple[str, object, int]]


def build(folder: Path, tree: Tree) -> None:
    for name, (kind, content, mode) in tree.items():
        path = folder / name
        if kind == "link":
            path.symlink_to(str(content))
            continue
        if kind == "file":
            path.write_text(str(content))
        else:
            path.mkdir()
            assert isinstance(content, dict)
            build(path, content)
        path.chmod(mode)


def clear(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
            clear(path)
            path.rmdir()
        else:
            path.unlink()


@pytest.mark.skipif(sys.platform != "linux", reason="names that differ in case alone, links and permissions")
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(roots, roots, roots)
def test_any_change_is_taken_back_and_done_again(first: Tree, second: Tree, third: Tree) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        rig = RevertRig(folder)
        build(rig.root, first)
        before = rig.states()
        captured = []
        for tree in (second, third):
            with rig.call() as changes:
                clear(rig.root)
                build(rig.root, tree)
            captured.append(changes)
        after = rig.states()
        done = rig.revert([*captured[0], *captured[1]])
        assert rig.states() == before
        if done is not None:
            rig.revert(done.list.changes)
        assert rig.states() == after
        for changes in reversed(captured):
            rig.revert(changes)
        assert rig.states() == before
        rig.database.close()
    finally:
        clear(folder)
        shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="that is the only way there")
def test_a_system_that_knows_paths_only_and_exchanges_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "BY_DESCRIPTOR", False)
    rig = RevertRig(tmp_path)
    changes, before, after = change_everything(rig)
    captured = rig.revert(changes)
    assert rig.states() == before
    assert captured is not None
    rig.revert(captured.list.changes)
    assert rig.states() == after
