"""The state of real checkouts: whatever git can be in the middle of, whatever files are called."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.domain.git import GitEntry, GitStatus
from helix_desktop.tools.git import parse_state, read_checkout_state, read_status
from tests.support.git_checkouts import git, git_program, make_checkout, needs_git

pytestmark = needs_git


async def test_changes_of_every_kind_against_the_last_commit(tmp_path: Path) -> None:
    names = ("changed", "deleted", "moved", "staged", "back")
    make_checkout(tmp_path, {f"{name} ä\n.txt": f"{name}\n" * 9 for name in names})
    (tmp_path / "changed ä\n.txt").write_text("other\n")
    (tmp_path / "deleted ä\n.txt").unlink()
    git(tmp_path, "mv", "moved ä\n.txt", " moved\tto.txt")
    (tmp_path / "new\n").mkdir()
    (tmp_path / "new\n" / "-file").write_text("")
    git(tmp_path, "rm", "--cached", "-q", "back ä\n.txt")
    (tmp_path / "added then deleted").write_text("")
    git(tmp_path, "add", "added then deleted")
    (tmp_path / "added then deleted").unlink()
    state = await read_checkout_state(git_program(tmp_path))
    assert state is not None
    entries = {entry.path: (entry.letter, entry.moved_from) for entry in state.entries}
    assert entries == {
        "changed ä\n.txt": ("M", ""),
        "deleted ä\n.txt": ("D", ""),
        " moved\tto.txt": ("R", "moved ä\n.txt"),
        "new\n/-file": ("?", ""),
        "back ä\n.txt": ("M", ""),
    }
    assert (state.status.branch, state.status.changed, state.status.untracked) == ("main", 4, 1)


async def test_ahead_behind_and_conflicts(tmp_path: Path) -> None:
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    make_checkout(origin, {"a": "1\n"})
    git(tmp_path, "clone", "-q", str(origin), str(clone))
    for folder, text in ((origin, "theirs\n"), (clone, "mine\n")):
        (folder / "a").write_text(text)
        git(folder, "commit", "-qam", text)
    git(clone, "fetch", "-q")
    git(clone, "merge", "-q", "origin/main", check=False)
    status = await read_status(git_program(clone))
    assert status == GitStatus("main", upstream="origin/main", ahead=1, behind=1, changed=1, conflicts=1)


async def test_heads_of_every_kind(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert await read_status(git_program(tmp_path)) == GitStatus("main", has_commit=False)
    make_checkout(tmp_path, {"a": "1\n", "folder/b": "2\n"})
    git(tmp_path, "checkout", "-q", "--detach")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert await read_status(git_program(tmp_path)) == GitStatus(detached_at=commit)
    plain, bare = tmp_path.parent / "plain", tmp_path.parent / "bare"
    plain.mkdir()
    git(tmp_path, "init", "-q", "--bare", str(bare))
    assert await read_status(git_program(plain)) is None
    assert await read_status(git_program(bare)) is None
    assert await read_status(git_program(tmp_path, {"PATH": str(plain)})) is None


async def test_a_folder_of_a_checkout_has_its_own_changes_only(tmp_path: Path) -> None:
    make_checkout(tmp_path, {"a": "1\n", "folder/b": "2\n"})
    (tmp_path / "a").write_text("2\n")
    (tmp_path / "folder" / "b").write_text("3\n")
    state = await read_checkout_state(git_program(tmp_path / "folder"))
    assert state is not None
    assert [entry.path for entry in state.entries] == ["b"]


async def test_a_worktree_names_itself_and_a_submodule_is_not_looked_into(tmp_path: Path) -> None:
    main, library = tmp_path / "main", tmp_path / "library"
    make_checkout(library, {"a": "1\n"})
    make_checkout(main, {"a": "1\n"})
    git(main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    git(main, "commit", "-qm", "two")
    git(main, "worktree", "add", "-q", "-b", "fix/it", str(tmp_path / "side"))
    status = await read_status(git_program(tmp_path / "side"))
    assert status == GitStatus("fix/it", worktree="side", main_folder=str(main))
    (main / "sub" / "a").write_text("not committed\n")
    assert await read_status(git_program(main)) == GitStatus("main")
    assert await read_status(git_program(main / "sub")) == GitStatus(
        "main", upstream="origin/main", changed=1
    )
    git(main / "sub", "commit", "-qam", "two")
    assert await read_status(git_program(main)) == GitStatus("main", changed=1)


def test_lines_that_no_git_writes_yet_are_passed_over() -> None:
    state = parse_state(b"# branch.head a\x1b]0;b\0# branch.ab +0 -0\0x what\0? \xff\0")
    assert state.status == GitStatus("a\\u001b]0;b", untracked=1)
    assert state.entries == (GitEntry("\ufffd", "?"),)
