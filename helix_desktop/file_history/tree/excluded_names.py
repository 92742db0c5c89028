"""Names that show what a file or folder is: a secret, or something that is built or fetched again."""

from __future__ import annotations

BUILT_FOLDERS = frozenset(
    (
        "node_modules", "bower_components", "__pycache__", ".tox", ".nox", ".eggs", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".next", ".nuxt", ".svelte-kit",
        ".parcel-cache", ".turbo", ".dart_tool", ".terraform", ".hg", ".svn", ".jj",
    )
)  # fmt: skip
"""Folders of this name hold what a tool makes or fetches again, or another program's own data."""

BUILT_MARKERS = ("CACHEDIR.TAG", "pyvenv.cfg")
"""A new folder that holds one of these is a cache (https://bford.info/cachedir) or a virtual environment."""

_SECRET_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".azure", ".kube"))
_SECRET_FILES = frozenset(
    (
        ".netrc", "_netrc", ".git-credentials", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd",
        ".vault-token", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials.json",
    )
)  # fmt: skip
_SECRET_ENDS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk")
_EXAMPLE_ENDS = (".example", ".sample", ".template", ".dist", ".defaults")


def is_secret_folder(name: str) -> bool:
    """Return True if a folder of this name holds keys."""
    return name.lower() in _SECRET_FOLDERS


def is_secret_file(name: str) -> bool:
    """Return True if a file of this name holds keys or passwords; examples of such files do not."""
    name = name.lower()
    if name.startswith(".env"):
        return not name.endswith(_EXAMPLE_ENDS)
    return name in _SECRET_FILES or name.endswith(_SECRET_ENDS)
