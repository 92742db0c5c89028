"""What users read of a checkout: what matters most in short, all of it in the details."""

from __future__ import annotations

import pytest

from helix_desktop.domain.git import GitStatus
from helix_desktop.words.git import git_text

CASES = (
    (GitStatus("main"), "main", "Branch main|No changes"),
    (
        GitStatus("main", upstream="origin/main", ahead=2, behind=1, changed=3, untracked=1),
        "main · 3 changed · 1 untracked",
        "Branch main|2 commits ahead of origin/main|1 commit behind origin/main|3 changed files"
        "|1 untracked file or folder",
    ),
    (
        GitStatus("main", upstream="origin/main", changed=2, conflicts=1),
        "main · 1 conflict",
        "Branch main|Up to date with origin/main|2 changed files|1 of them in conflict",
    ),
    (GitStatus("main", has_commit=False), "main · no commits yet", "Branch main|No commits yet|No changes"),
    (
        GitStatus(detached_at="06de214447c9", worktree="side", main_folder="/code/app"),
        "at 06de2144 · worktree side",
        "Detached at commit 06de2144|Worktree side of /code/app|No changes",
    ),
    (
        GitStatus("main", is_known=False, problem="slow"),
        "main · status unknown",
        "Branch main|Changes aren't known: git didn't answer in time.",
    ),
)


@pytest.mark.parametrize(("status", "line", "details"), CASES)
def test_a_state_in_short_and_in_full(status: GitStatus, line: str, details: str) -> None:
    text = git_text(status)
    assert (text.on_one_line, "|".join(text.details)) == (line, details)


def test_outside_a_checkout_there_is_nothing_to_say() -> None:
    assert git_text(None).on_one_line == ""
