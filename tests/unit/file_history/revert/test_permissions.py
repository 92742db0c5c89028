"""Reverts of a user who may not do everything: what cannot be written is named, and nothing is half done."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_desktop.domain.errors import RevertRefused
from helix_desktop.domain.file_history.changes import FileChange, FileState
from tests.support.revert_rig import RevertRig, at_operation, run_as_user

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o777)
        yield Path(place)


def test_a_folder_that_may_not_be_written_is_named(folder: Path) -> None:
    def work() -> None:
        rig = RevertRig(folder)
        rig.write({"in/a": "1", "b": "1"})
        with rig.call() as changes:
            rig.write({"in/a": "2", "b": "2", "in/new": "3"})
        (rig.root / "in").chmod(0o500)
        problems = {path: file.problem for path, file in rig.planned(changes).items()}
        assert problems == {"b": "", "in/a": "no_permission", "in/new": "no_permission"}
        rig.revert(changes)
        assert (rig.root / "b").read_text() == "1"
        assert (rig.root / "in/a").read_text() == "2"

    run_as_user(folder, work)


def test_permission_that_goes_after_the_plan_changes_nothing(folder: Path) -> None:
    def work() -> None:
        rig = RevertRig(folder)
        rig.write({"a": "1", "in/a": "1"})
        with rig.call() as changes:
            rig.write({"a": "2", "in/a": "2"})
        after = rig.states()
        rig.on_operation = at_operation("journal swapping", lambda: (rig.root / "in").chmod(0o500))
        with pytest.raises(RevertRefused, match=r"None of them was changed\. Permission denied"):
            rig.revert(changes)
        (rig.root / "in").chmod(after["in"].mode)
        assert rig.states() == after

    run_as_user(folder, work)


def test_what_its_owner_may_not_read_is_read_for_the_revert(folder: Path) -> None:
    def work() -> None:
        rig = RevertRig(folder)
        rig.write({"hidden": "1", "closed": "1", "sealed/a": "1"})
        before = rig.states()
        rig.write({"hidden": "2"})
        hidden, closed, sealed = (rig.root / name for name in ("hidden", "closed", "sealed"))
        changed = rig.states()
        for path in (hidden, closed, sealed):
            path.chmod(0)

        def change(name: str) -> FileChange:
            state = changed[name]
            after = FileState(state.kind, state.digest, state.size, 0)
            return FileChange(name, before[name], after)

        captured = rig.revert([change("hidden"), change("closed"), change("sealed")])
        assert rig.states() == before
        assert captured is not None
        rig.revert(captured.list.changes)
        assert [path.stat().st_mode & 0o777 for path in (hidden, closed, sealed)] == [0, 0, 0]
        hidden.chmod(0o600)
        assert hidden.read_text() == "2"
        hidden.write_text("3")  # as large as what is expected there
        hidden.chmod(0)
        with pytest.raises(RevertRefused, match="hidden changed"):
            rig.revert([change("hidden")])
        assert hidden.stat().st_mode & 0o777 == 0
        hidden.chmod(0o600)
        assert hidden.read_text() == "3"
        sealed.chmod(0o700)

    run_as_user(folder, work)
