"""The data directory moves completely, or not at all, wherever the move is interrupted."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QLockFile

from helix_desktop.app import data_move
from helix_desktop.app.data_move import move_data_dir
from helix_desktop.app.single_instance import LOCK_FILE
from helix_desktop.config import data_dir as moves
from helix_desktop.config.data_dir import MARK_FILE, plan_move
from helix_desktop.config.paths import POINTER_FILE, DataDir, write_pointer
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DataDirUnavailable, InvalidInput, StoreLocked
from helix_desktop.domain.store import Commit
from helix_desktop.file_history.database import FILE_NAME, FileHistoryDatabase
from helix_desktop.main import main
from helix_desktop.services.samples import SAMPLES, add_sample
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.workspaces.registry import WorkspaceRegistry
from tests.support.store.builders import TickingClock, make_content, make_summary, tool_answer_event

CONTENT = make_content(b"kept" * 1000)
FORMER = b"a former version of a file"


class Stop(Exception):
    """Cuts a move off."""


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    """A data directory with a workspace, the guided sample, settings and logs."""
    new_data = DataDir(tmp_path / "old")
    new_data.ensure()
    new_data.settings_file.write_text('theme = "dark"\n')
    (new_data.logs_dir / "app.log").write_text("said\n")
    (tmp_path / "ws").mkdir()
    registry = WorkspaceRegistry(new_data.workspaces_dir, TickingClock())
    record = registry.add(tmp_path / "ws")
    add_sample(registry, new_data.root / "samples", SAMPLES[0])

    async def fill() -> None:
        store = await SharedStore.open(registry.store_folder(record.id), record.id, TickingClock())
        await store.commit(
            Commit("s", [tool_answer_event(1, CONTENT.data)], [CONTENT], summary=make_summary("s"))
        )
        await store.close()

    asyncio.run(fill())
    history = FileHistoryDatabase(registry.data_folder(record.id) / FILE_NAME, TickingClock())
    history.contents.put(FORMER)
    history.close()
    return new_data


def located(place: Path) -> DataDir:
    return DataDir.locate(place, {})


def files_in(root: Path) -> dict[str, bytes]:
    paths = (Path(folder) / name for folder, _, names in os.walk(root) for name in names)
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in paths
        if path.name not in moves._LOCKS and not path.name.endswith(".toml")
    }


def is_complete(data: DataDir) -> bool:
    """Whether the workspace's contents can be read, and the sample lies in this data directory."""
    data.ensure()
    registry = WorkspaceRegistry(data.workspaces_dir, TickingClock())
    sample, ours = sorted(registry.list_workspaces(), key=lambda record: not record.demo)

    async def read() -> bytes:
        store = await SharedStore.open(registry.store_folder(ours.id), ours.id)
        try:
            return await store.get(CONTENT.digest)
        finally:
            await store.close()

    history = FileHistoryDatabase(registry.data_folder(ours.id) / FILE_NAME, TickingClock())
    has_former = history.contents.has(digest_of(FORMER))
    history.close()
    there = (
        has_former and Path(sample.path).is_relative_to(data.root.resolve()) and Path(sample.path).is_dir()
    )
    return (
        there and asyncio.run(read()) == CONTENT.data and data.settings_file.read_text() == 'theme = "dark"\n'
    )


def quiet(done: int, size: int) -> None:
    """Ignore progress."""


@pytest.mark.parametrize("remove", [False, True])
def test_it_moves_and_is_found_at_the_new_place(
    data: DataDir, tmp_path: Path, capsys: pytest.CaptureFixture[str], remove: bool
) -> None:
    before = files_in(data.root)
    options = ["--remove-old"] if remove else []
    words = ["move-data", str(tmp_path / "new" / "place"), "--data-dir", str(data.root), "--json", *options]
    assert main(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["to"], report["removed"]) == (str(tmp_path / "new" / "place"), remove)
    moved = located(data.root)
    assert moved.root == tmp_path / "new" / "place"
    assert files_in(moved.root) == before
    assert is_complete(moved)
    assert (moved.root.stat().st_mode & 0o077) == 0
    left = {path.name for path in data.root.iterdir()}
    assert left == {POINTER_FILE} if remove else {"settings.toml", "workspaces"} < left


@pytest.mark.parametrize("place", ["", "data", "data/deep"])
def test_it_does_not_move_into_the_folder_of_a_workspace(data: DataDir, tmp_path: Path, place: str) -> None:
    before = files_in(data.root)
    with pytest.raises(InvalidInput, match="in the folder of ws, which an agent could change"):
        move_data_dir(data, tmp_path / "ws" / place, quiet)
    assert files_in(data.root) == before
    assert list((tmp_path / "ws").iterdir()) == []


def test_a_workspace_in_the_data_folder_itself_keeps_its_path(data: DataDir, tmp_path: Path) -> None:
    """Only what moves along is somewhere else after a move."""
    registry = WorkspaceRegistry(data.workspaces_dir, TickingClock())
    record = next(record for record in registry.list_workspaces() if not record.demo)
    registry.change(record.id, path=str(data.root))
    moved = move_data_dir(data, tmp_path / "new", quiet).target
    registry = WorkspaceRegistry(moved / "workspaces", TickingClock())
    assert registry.get(record.id).path == str(data.root)


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_without_data_is_not_moved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], exists: bool
) -> None:
    typo = tmp_path / "typo"
    if exists:
        typo.mkdir()
    assert main(["move-data", str(tmp_path / "new"), "--data-dir", str(typo)]) == 2
    words = capsys.readouterr().err
    assert "Nothing to move." in words
    assert (f"{typo} doesn't exist." in words) is not exists
    assert [path.name for path in tmp_path.iterdir()] == (["typo"] if exists else [])


@pytest.mark.parametrize("is_taken", [False, True])
def test_the_old_copy_can_be_deleted_or_it_is_said_what_has_to_stay(
    data: DataDir, tmp_path: Path, capsys: pytest.CaptureFixture[str], is_taken: bool
) -> None:
    outer_pointer = tmp_path / f"old.{POINTER_FILE}"
    if is_taken:
        outer_pointer.write_text("mine")
    assert main(["move-data", str(tmp_path / "new"), "--data-dir", str(data.root)]) == 0
    words = capsys.readouterr().err
    assert "The old copy is still in" in words
    assert (f"Don't delete {data.root / POINTER_FILE}" in words) is is_taken
    assert ("You can delete it." in words) is not is_taken
    if is_taken:
        assert outer_pointer.read_text() == "mine"
        return
    shutil.rmtree(data.root)
    assert is_complete(located(data.root))
    (tmp_path / "new").rename(tmp_path / "unplugged")
    with pytest.raises(DataDirUnavailable, match=rf"delete {outer_pointer} to start"):
        located(data.root).ensure()
    outer_pointer.unlink()
    assert located(data.root).root == data.root


def test_every_former_place_leads_to_the_newest_also_when_it_moves_back(
    data: DataDir, tmp_path: Path
) -> None:
    places = [data.root, *(tmp_path / f"place-{number}" for number in range(12))]
    for target in places[1:]:
        move_data_dir(located(data.root), target, quiet).remove_old()
    assert [located(place).root for place in places] == [places[-1]] * len(places)
    for emptied in places[1:-1]:
        shutil.rmtree(emptied)  # seemingly empty
    assert is_complete(located(data.root))
    back = move_data_dir(located(data.root), data.root, quiet)
    assert [located(place).root for place in places] == [data.root] * len(places)
    assert is_complete(located(data.root))
    back.remove_old()
    assert {path.name for path in places[-1].iterdir()} == {POINTER_FILE}


def test_a_long_way_is_followed_and_a_circle_ends(tmp_path: Path) -> None:
    places = [tmp_path / str(number) for number in range(20)]
    for place, target in zip(places, [*places[1:], places[-2]], strict=True):
        place.mkdir()
        write_pointer(place, target)
    assert located(places[0]).root == places[-1]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.49, 0.51, 0.9, 1.0])
def test_interrupted_anywhere_the_old_folder_is_used_and_the_move_can_restart(
    data: DataDir, tmp_path: Path, share: float
) -> None:
    def cut(done: int, size: int) -> None:
        if done >= share * size:
            raise Stop

    with pytest.raises(Stop):
        move_data_dir(data, tmp_path / "new", cut)
    assert located(data.root) == data
    assert is_complete(data)
    move_data_dir(data, tmp_path / "new", quiet)
    assert located(data.root).root == tmp_path / "new"
    assert is_complete(located(data.root))


@pytest.mark.parametrize("step", ["_relocate_samples", "write_pointer", "unlink"])
def test_interrupted_around_the_switch_one_folder_is_complete(
    data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Stop

    if step == "_relocate_samples":
        monkeypatch.setattr(data_move, step, stop)
    elif step == "write_pointer":
        monkeypatch.setattr(moves, step, stop)
    else:
        unlink_file: Callable[..., None] = Path.unlink

        def unlink(path: Path, missing_ok: bool = False) -> None:
            if path.name == MARK_FILE and (data.root / POINTER_FILE).exists():
                raise Stop
            unlink_file(path, missing_ok)

        monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(Stop):
        move_data_dir(data, tmp_path / "new", quiet)
    monkeypatch.undo()
    used = located(data.root)
    assert used.root == (tmp_path / "new" if step == "unlink" else data.root)
    assert is_complete(used)
    if step != "unlink":
        move_data_dir(used, tmp_path / "new", quiet)
        assert is_complete(located(data.root))


def test_it_does_not_move_while_in_use(
    data: DataDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = next(data.workspaces_dir.glob("*/store"))

    async def try_to_move() -> None:
        owner = await SharedStore.open(store, store.parent.name)
        with pytest.raises(StoreLocked):
            await asyncio.to_thread(move_data_dir, data, tmp_path / "new", quiet)
        await owner.close()

    asyncio.run(try_to_move())
    window = QLockFile(str(data.root / LOCK_FILE))
    assert window.tryLock(0)
    assert main(["move-data", str(tmp_path / "new"), "--data-dir", str(data.root)]) == 3
    assert "The window of Helix Desktop is open." in capsys.readouterr().err
    window.unlock()
    assert not (tmp_path / "new").exists()
    assert is_complete(data)


def test_unsuitable_targets_are_refused_before_anything_happens(
    data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for place, words in (
        (data.root, "neither folder can contain the other"),
        (data.root / "inside", "neither folder can contain the other"),
        (tmp_path, "neither folder can contain the other"),
        (tmp_path / "full", "isn't empty"),
        (tmp_path / "file", "isn't a folder"),
    ):
        with pytest.raises(InvalidInput, match=words):
            plan_move(data.root, place)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(InvalidInput, match="isn't enough disk space"):
        move_data_dir(data, tmp_path / "new", quiet)
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"


def test_a_copy_that_reads_otherwise_is_not_used(
    data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hash_file = moves._hash_file
    monkeypatch.setattr(moves, "_hash_file", lambda path, *rest: (b"other", hash_file(path, *rest)[1]))
    with pytest.raises(DataDirUnavailable, match="was not copied correctly"):
        move_data_dir(data, tmp_path / "new", quiet)
    monkeypatch.undo()
    assert located(data.root) == data
    assert is_complete(data)


def test_a_missing_new_folder_is_reported_and_not_recreated(data: DataDir, tmp_path: Path) -> None:
    move_data_dir(data, tmp_path / "new", quiet).remove_old()
    (tmp_path / "new").rename(tmp_path / "unplugged")
    with pytest.raises(DataDirUnavailable, match=r"was moved to .*new, but isn't there"):
        located(data.root).ensure()
    assert not (tmp_path / "new").exists()
    (tmp_path / "unplugged").rename(tmp_path / "new")
    assert is_complete(located(data.root))
