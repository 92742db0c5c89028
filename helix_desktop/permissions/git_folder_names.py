"""What ordinary work changes in a folder of git, by name: all else stays as the user left it.

Commands change the git folder of a checkout that lies outside of the workspace only in these names, once the
user allows it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

SHARED_NAMES = ("objects", "refs", "reftable", "packed-refs", "logs", "rr-cache", "shallow", "gc.*", "*.lock")
"""Names that the worktrees of a repository share."""
CHECKOUT_NAMES = (
    *SHARED_NAMES, "HEAD", "index", "sharedindex.*", "*_HEAD", "*_EDITMSG", "MERGE_*", "AUTO_MERGE",
    "SQUASH_MSG",
)  # fmt: skip
"""Names of a checkout with its own HEAD: what `add`, `commit`, `fetch`, `merge`, `stash`, `switch` write."""
FIXED_NAMES = ("objects/info/alternates", "objects/info/http-alternates")
"""Files in a folder that is changed which lead git to other folders: these stay as they are."""


def is_changed_by_git(name: str, names: tuple[str, ...]) -> bool:
    """Return True if an entry of a git folder is one of the names, which may have wildcards."""
    return any(fnmatchcase(name, pattern) for pattern in names)
