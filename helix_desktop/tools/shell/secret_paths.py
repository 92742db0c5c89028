"""The paths of secrets on this machine, and of sockets through which a command could leave its sandbox."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_HOME = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".config/gcloud", ".config/gh",
    ".config/hub", ".config/glab-cli", ".config/op", ".config/doctl", ".config/rclone", ".config/sops",
    ".config/Bitwarden", ".config/keepassxc", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera",
    ".config/Signal", ".config/Slack", ".config/discord", ".mozilla", ".thunderbird", ".var/app", "snap",
    ".password-store", ".local/share/keyrings", ".local/share/kwalletd",
    ".local/share/gnome-online-accounts", ".netrc", "_netrc", ".git-credentials",
    ".config/git/credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".gem/credentials",
    ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties",
    ".terraform.d", ".terraformrc", ".vault-token", ".pgpass", ".my.cnf", ".mylogin.cnf", ".s3cfg",
    ".boto", ".huggingface/token", ".cache/huggingface/token", ".config/pip/pip.conf", ".pip/pip.conf",
    ".bash_history", ".zsh_history", ".histfile", ".python_history", ".node_repl_history",
    ".psql_history", ".mysql_history", ".sqlite_history", ".lesshst", ".local/share/fish/fish_history",
    ".claude.json", ".claude/.credentials.json", ".codex/auth.json", ".Xauthority", ".ICEauthority",
    "Library/Keychains", "Library/Cookies",
)  # fmt: skip
# Sockets of other programs lie here: who can talk to the session bus can have anything started outside.
_ESCAPE_SOCKETS = ("/run", "/var/run", "/var/lib/docker", "/var/spool/cron", "/var/tmp")


def secret_paths(home: Path) -> tuple[Path, ...]:
    """Return the existing files and folders below `home` that hold secrets, links resolved."""
    return existing_paths(home / name for name in _HOME)


def escape_sockets() -> tuple[Path, ...]:
    """Return the existing folders with sockets of other programs, links resolved."""
    return existing_paths(Path(name) for name in _ESCAPE_SOCKETS)


def existing_paths(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths that exist, links resolved, without duplicates."""
    resolved = (Path(os.path.realpath(path)) for path in paths if os.path.lexists(path))
    return tuple(dict.fromkeys(path for path in resolved if path.exists()))
