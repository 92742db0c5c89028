"""Names of files: as the most lenient file systems compare them, and those that show keys or passwords."""

from __future__ import annotations

import unicodedata


def normalized_name(name: str) -> str:
    """Normalize a name as the most lenient file system does: no case, invisible characters, end dots."""
    visible = "".join(
        sign for sign in unicodedata.normalize("NFKC", name) if unicodedata.category(sign) != "Cf"
    )
    return visible.split(":", 1)[0].casefold().rstrip(". ")


_SECRET_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".azure", ".kube", ".env.d", ".envs"))
_SECRET_FILES = frozenset(
    (
        ".netrc", "_netrc", ".git-credentials", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd",
        ".vault-token", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials.json",
    )
)  # fmt: skip
_SECRET_ENDS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk")
_EXAMPLE_ENDS = (".example", ".sample", ".template", ".dist", ".defaults")
SECRET_GLOBS = (
    ".env*", "*.env", *sorted(_SECRET_FILES), *(f"*{end}" for end in _SECRET_ENDS),
    *(f"**/{name}/**" for name in sorted(_SECRET_FOLDERS)),
)  # fmt: skip
"""Globs for at least all files that `is_secret_path` finds, in any case."""


def is_secret_folder(name: str) -> bool:
    """Return True if a folder of this name holds keys."""
    return name.lower() in _SECRET_FOLDERS


def is_secret_file(name: str) -> bool:
    """Return True if a file of this name holds keys or passwords; examples of such files do not."""
    name = name.lower()
    if name.startswith(".env"):
        return not name.endswith(_EXAMPLE_ENDS)
    return name in _SECRET_FILES or name.endswith(_SECRET_ENDS)


def holds_secrets(path: str) -> bool:
    """Return True if a path is that of a file with keys or passwords, of a folder of such, or in one."""
    return is_secret_path(path) or is_secret_path(f"{path}/-")


def is_secret_path(path: str) -> bool:
    """Return True if a file, by its path with slashes, holds keys or passwords, or is in such a folder."""
    *folders, name = path.split("/")
    return is_secret_file(name) or name.lower().endswith(".env") or any(map(is_secret_folder, folders))
