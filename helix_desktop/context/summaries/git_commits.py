"""What commands did to a git history: commits, which of them were pushed, and pull requests."""

from __future__ import annotations

import re

import msgspec

from helix_desktop.context.summaries.ledger_entries import GitCommit, PullRequest, WorkingTree
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.text_format import ellipsize, one_line

_COMMITTED = re.compile(r"^\[([^\]\n]+?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_PUSHED = re.compile(
    r"^ [ +*=] (?:\[new branch\]|[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}|\[up to date\]) +(\S+) -> \S+",
    re.MULTILINE,
)
_ALL_PUSHED = re.compile(r"^Everything up-to-date$", re.MULTILINE)
_NEW_REPOSITORY = re.compile(r"^Initialized empty Git repository", re.MULTILINE)  # one to try something in
_REQUEST = re.compile(r"\b(?:gh pr|glab mr) create\b")
_REQUEST_ADDRESS = re.compile(r"https?://\S+/(?:pull|merge_requests)/\d+")
_SUBJECT_CHARS = 100  # of a commit
_COMMANDED = re.compile(
    r"\bgit\b[^|;&\n]* commit\b[^|;&\n]*? (?:-[a-z]*m|--message)[ =]?(?:'([^'\n]+)|\"([^\"$`\n]+))"
)
"""A commit with its message in the command: what it prints may be hidden."""
_LOGGED = re.compile(r"^([0-9a-f]{7,40}) (?:\((?:HEAD -> )?([^),\n]*)[^)\n]*\) )?(\S.*)$", re.MULTILINE)
"""A line of `git log --oneline`, with or without branches."""

_STATUS = re.compile(r"\bgit\b[^|;&\n]* status\b")
_COMMITS = re.compile(r"\bgit\b[^|;&\n]* commit\b")
_LONG_STATUS = re.compile(r"^(?:On branch |HEAD detached |nothing to commit)", re.MULTILINE)
_CLEAN = "working tree clean"
_CHANGED_LONG = re.compile(r"^\t(?:modified|new file|deleted|renamed|both \w+):\s+(\S.*)$", re.MULTILINE)
_CHANGED_SHORT = re.compile(r"^(?=[ MADRCUT]{2} )(?! {2} )[ MADRCUT]{2} (\S.*)$", re.MULTILINE)
_UNTRACKED_HEADING = "Untracked files:"
_UNTRACKED_LONG = re.compile(r"^\t(?![a-z ]+:\s)(\S.*)$", re.MULTILINE)
_UNTRACKED_SHORT = re.compile(r"^\?\? (\S.*)$", re.MULTILINE)


class GitCommits(msgspec.Struct):
    """Commits by their hash and pull requests by their address, each newest last."""

    commits: dict[str, GitCommit] = {}
    requests: dict[str, PullRequest] = {}
    unnamed: dict[str, int] = {}  # messages of commits whose hash is not known yet, each with its event
    working_tree: WorkingTree | None = None

    def add(self, output: ToolAnswered, seq: int) -> None:
        """Read what a command printed."""
        if "git" in output.target and not _has(_NEW_REPOSITORY, "Initialized", output.text):
            self._add_status(output, seq)
            self._add_commits(output, seq)
            self._add_from_log(output.text)
            self._add_pushes(output.text)
        if _REQUEST.search(output.target) and (found := _REQUEST_ADDRESS.search(output.text)):
            self.requests[found[0]] = PullRequest(found[0], seq)

    def _add_commits(self, output: ToolAnswered, seq: int) -> None:
        commanded = _COMMANDED.search(output.target) if output.ok else None
        if commanded and not _has(_COMMITTED, "] ", output.text):
            self.unnamed[ellipsize(one_line(commanded[1] or commanded[2]), _SUBJECT_CHARS)] = seq
        for branch, digest, subject in _COMMITTED.findall(output.text) if "] " in output.text else ():
            if "--amend" in output.target:
                same = [commit for commit in self.commits.values() if commit.branch == branch]
                for amended in same[-1:]:
                    del self.commits[amended.digest]
            title = ellipsize(one_line(subject), _SUBJECT_CHARS)
            self.commits[digest] = GitCommit(digest, branch, title, seq)

    def _add_status(self, output: ToolAnswered, seq: int) -> None:
        """Read which files are not committed, from `git status` in its long or its short form."""
        status_call = _STATUS.search(output.target)
        if status_call is None or not output.ok or _COMMITS.search(output.target, status_call.end()):
            return
        text = output.text
        is_long = _LONG_STATUS.search(text) is not None
        changed = _CHANGED_LONG.findall(text) if is_long else _CHANGED_SHORT.findall(text)
        listed = text.partition(_UNTRACKED_HEADING)[2] if is_long else text
        untracked = (_UNTRACKED_LONG if is_long else _UNTRACKED_SHORT).findall(listed)
        if changed or untracked or _CLEAN in text:
            self.working_tree = WorkingTree(
                seq, tuple(dict.fromkeys(changed)), tuple(dict.fromkeys(untracked))
            )

    def _add_from_log(self, text: str) -> None:
        """Find the hashes of commits that printed none, where a log names them by their message."""
        for digest, branch, subject in _LOGGED.findall(text) if self.unnamed else ():
            title = ellipsize(one_line(subject), _SUBJECT_CHARS)
            seq = self.unnamed.pop(title, 0)
            if seq:
                self.commits[digest] = GitCommit(digest, branch, title, seq)

    def _add_pushes(self, text: str) -> None:
        branches = {*_PUSHED.findall(text)} if " -> " in text else set()
        if self.commits and _has(_ALL_PUSHED, "up-to-date", text):
            branches.add([*self.commits.values()][-1].branch)
        for commit in self.commits.values() if branches else ():
            if commit.branch in branches:
                self.commits[commit.digest] = msgspec.structs.replace(commit, is_pushed=True)

    @property
    def last_commit_seq(self) -> int:
        """Return the event of the newest commit, 0 if there is none."""
        return max((*(commit.seq for commit in self.commits.values()), *self.unnamed.values()), default=0)

    @property
    def newest_first(self) -> list[GitCommit | PullRequest]:
        """Return pull requests and commits, the newest first."""
        return sorted((*self.commits.values(), *self.requests.values()), key=lambda entry: -entry.seq)


def _has(pattern: re.Pattern[str], word: str, text: str) -> bool:
    """Return True if a pattern is in a text; its word is looked for first, much faster than the pattern."""
    return word in text and pattern.search(text) is not None
