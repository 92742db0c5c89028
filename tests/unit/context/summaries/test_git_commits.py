"""Commits in the ledger: what commands report of them, and which were pushed."""

from __future__ import annotations

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.artifact_ledger import GitCommits, Ledger
from helix_desktop.domain.events.conversation import ToolAnswered

_COMMIT = 'git add -A && git commit -m "$(cat <<EOF …'


def _output(command: str, text: str) -> ToolAnswered:
    return ToolAnswered("c", "run_command", text, "d" * 64, len(text), 1, 1, target=command)


def _lines(*outputs: tuple[str, str]) -> list[str]:
    git = GitCommits()
    for seq, (command, text) in enumerate(outputs, 1):
        git.add(_output(command, text), seq)
    return [entry.line for entry in git.newest_first]


def test_a_commit_says_whether_it_was_pushed_since() -> None:
    """A push is of one branch; what was committed behind it waits for the next."""
    lines = _lines(
        (_COMMIT, "[main (root-commit) 1111111] Begin\n 1 file changed, 2 insertions(+)"),
        (_COMMIT, "[tide/fix 2222222a] Read  the last block\n 2 files changed, 9 insertions(+)"),
        (
            "git push -u origin tide/fix 2>&1",
            "remote: Create a pull request\nTo github.com:tide/watch.git\n"
            " * [new branch]      tide/fix -> tide/fix\n",
        ),
        (_COMMIT, "[tide/fix 3333333] Test it"),
    )
    assert lines == [
        "commit 3333333 e4: Test it (tide/fix, no push since)",
        "commit 2222222a e2: Read the last block (tide/fix, pushed)",
        "commit 1111111 e1: Begin (main, no push since)",
    ]


def test_each_form_of_a_push_counts_but_a_rejected_one() -> None:
    for pushed in (
        "   1a2b3c4..2222222  main -> main",
        " + 1a2b3c4...2222222 main -> main (forced update)",
        "Everything up-to-date",
    ):
        assert _lines((_COMMIT, "[main 2222222] Fix"), ("git push", pushed))[0].endswith("(main, pushed)")
    rejected = " ! [rejected]        main -> main (non-fast-forward)"
    assert _lines((_COMMIT, "[main 2222222] Fix"), ("git push", rejected))[0].endswith("no push since)")


def test_a_quiet_commit_has_the_hash_that_a_log_names() -> None:
    """Its own output is empty, and the digest of that was taken for the commit's."""
    assert _lines(
        ("git -c user.name=me commit -qm 'Rename the host' && git status --short", "?? docs/"),
        ("git log --oneline -2", "0dcd16e (HEAD -> main) Rename the host\n1111111 Begin"),
    ) == ["commit 0dcd16e e1: Rename the host (main, no push since)"]
    assert _lines(('git commit -q -a -m "Fix" && git log --oneline -1', "2222222 Fix")) == [
        "commit 2222222 e1: Fix"
    ]
    assert _lines(("git log --oneline", "2222222 Fix")) == []


def test_an_amended_commit_replaces_the_one_before() -> None:
    lines = _lines(
        (_COMMIT, "[main 1111111] Fix"),
        ("git commit --amend --no-edit", "[main 2222222] Fix\n Date: Tue Nov 24 20:00:00 2026 +0000"),
    )
    assert lines == ["commit 2222222 e2: Fix (main, no push since)"]


def test_a_pull_request_stands_with_its_address() -> None:
    """A failed one has none; other addresses in an output are no request's."""
    address = "https://github.com/tide/watch/pull/12"
    assert _lines((f'gh pr create --draft --title "Read all" && echo {address}9', address)) == [
        f"pull request e1: {address}"
    ]
    assert _lines(("gh pr create", "No commits between main and tide/fix")) == []
    assert _lines(("gh pr view", address)) == []


def test_a_repository_made_to_try_something_is_left_out() -> None:
    text = "Initialized empty Git repository in /tmp/try/.git/\n[main (root-commit) 1111111] init"
    assert _lines(("cd /tmp/try && git init && git commit -m init", text)) == []


LONG_STATUS = """On branch main
Changes to be committed:
\tnew file:   src/new.py

Changes not staged for commit:
  (use "git add <file>..." to update what will be committed)
\tmodified:   src/app.py
\tdeleted:    src/old.py

Untracked files:
  (use "git add <file>..." to include in what will be committed)
\tnotes.txt
"""


def _working_tree(*outputs: tuple[str, str]) -> str:
    ledger = Ledger()
    for seq, (command, text) in enumerate(outputs, 1):
        ledger.add(LogItem(seq, seq, 1, 1, _output(command, text), 1, 1))
    return ledger.text(400).splitlines()[0]


def test_the_working_tree_is_one_line_as_git_status_said_it_last() -> None:
    """What is not committed may be so on purpose: without the line the next agent commits it."""
    in_full = (
        "git status e1: not committed, changed: src/new.py, src/app.py, src/old.py; not tracked: notes.txt"
    )
    assert _working_tree(("git status", LONG_STATUS)) == in_full
    short = "M  src/a.py\n M src/b.py\n?? c.txt\nR  d.py -> e.py\nMM f.py\n D g.py\n"
    assert _working_tree(("git status --short | head", short)) == (
        "git status e1: not committed, changed: src/a.py, src/b.py, d.py -> e.py, f.py and 1 more;"
        " not tracked: c.txt"
    )
    clean = "On branch main\nnothing to commit, working tree clean\n"
    assert (
        _working_tree(("git status", LONG_STATUS), ("git status", clean)) == "git status e2: all is committed"
    )
    assert _working_tree(("git status", LONG_STATUS), ("echo x > src/app.py", "")).endswith(
        "notes.txt (files were changed since)"
    )


def test_a_commit_ends_what_was_said_of_the_working_tree() -> None:
    committed = "[main 2222222] Fix"
    assert _working_tree(("git status", LONG_STATUS), (_COMMIT, committed)).startswith("commit 2222222")
    assert _working_tree(("git status && git commit -m Fix", f"{LONG_STATUS}{committed}")).startswith(
        "commit"
    )
    both = ("git commit -qm Fix && git status --short", " M src/b.py\n")
    assert _working_tree(both) == "git status e1: not committed, changed: src/b.py"
