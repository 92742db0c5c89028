"""Looks at files for what commands may see, and the paths of secrets on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from helix_desktop.permissions.files_run_by_programs import may_begin_waiting
from helix_desktop.permissions.home_folder import RELOCATED, relocated_names
from helix_desktop.system.files import read_start
from helix_desktop.tools.shell.scratch import temporary_base

MAX_ENTRIES = 2_000  # of a folder
_FILE_CAP = 256 * 1024  # bytes
_MAX_DEPTH = 100  # folders of a path that are resolved one by one


class Entry(NamedTuple):
    """An entry of a folder; a link to a folder is none."""

    name: str
    path: str
    is_link: bool
    is_folder: bool


class FileLookups:
    """Looks at files by absolute paths at one moment: each folder's links are resolved once. Blocks.

    Each command may change what the next one sees: nothing is kept from one to the other.
    """

    def __init__(self) -> None:
        self._real_paths = {"/": "/"}

    def mode(self, path: str) -> int:
        """Return the mode of what a path leads to; 0 if that is nothing."""
        with suppress(OSError, ValueError):  # ValueError: no path, such as one with a null
            return os.stat(self.real_path(path)).st_mode
        return 0

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(self.real_path(path))

    def is_file(self, path: str) -> bool:
        return os.path.isfile(self.real_path(path))

    def real_path(self, path: str) -> str:
        real = self._real_paths.get(path)
        if real is None:
            folder, _, name = path.rpartition("/")
            if name in ("", ".", "..") or "/../" in path or path.count("/") > _MAX_DEPTH:
                real = _real_path(path)
            else:
                full = f"{self.real_path(folder or '/').rstrip('/')}/{name}"
                real = _real_path(full) if os.path.islink(full) else full
            self._real_paths[path] = real
        return real

    def entries(self, folder: str) -> tuple[Entry, ...]:
        """Return the entries of a folder, at most 2,000; none if it can't be read."""
        base = folder.rstrip("/")
        try:
            with os.scandir(folder) as entries:
                return tuple(
                    Entry(
                        entry.name,
                        f"{base}/{entry.name}",
                        entry.is_symlink(),
                        entry.is_dir(follow_symlinks=False),
                    )
                    for entry in islice(entries, MAX_ENTRIES)
                )
        except (OSError, ValueError):
            return ()

    def names(self, folder: str) -> frozenset[str]:
        """Return the names in a folder; none if it can't be read."""
        return frozenset(entry.name for entry in self.entries(folder))


def _real_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:
        return os.path.normpath(path)


def parents(path: str) -> Iterator[str]:
    """Yield the folders around an absolute path, the nearest first, without the topmost one."""
    while (end := path.rfind("/")) > 0:
        path = path[:end]
        yield path


def is_inside(path: str, folder: str) -> bool:
    """Return True if a path is a folder, or in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def read_text(path: str) -> str:
    """Return the start of a file as text; empty if it can't be read, or is none: a pipe would never end."""
    return read_start(path, _FILE_CAP).decode(errors="surrogateescape")


_HOME = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".config/gcloud", ".config/gh",
    ".config/hub", ".config/glab-cli", ".config/op", ".config/doctl", ".config/rclone", ".config/sops",
    ".config/Bitwarden", ".config/keepassxc", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera",
    ".config/Signal", ".config/Slack", ".config/discord", ".mozilla", ".thunderbird", ".var/app", "snap",
    ".password-store", ".local/share/keyrings", ".local/share/kwalletd",
    ".local/share/gnome-online-accounts", ".netrc", "_netrc", ".git-credentials",
    ".config/git/credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".gem/credentials",
    ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".m2/settings-security.xml",
    ".gradle/gradle.properties", ".terraform.d/credentials.tfrc.json", ".terraformrc", ".vault-token",
    ".pgpass", ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".huggingface/token",
    ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".config/pip/pip.conf",
    ".pip/pip.conf", ".bash_history", ".zsh_history", ".histfile", ".python_history",
    ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history", ".lesshst", ".viminfo",
    ".local/share/fish/fish_history", ".local/share/atuin", ".rediscli_history", ".Xauthority",
    ".ICEauthority", "Library/Keychains", "Library/Cookies", "Library/Application Support",
    ".claude.json", ".claude", ".codex", ".gemini", ".cursor", ".config/github-copilot", ".config/cursor",
    ".config/Cursor", ".config/Code", ".config/opencode", ".local/share/opencode", ".config/goose",
    ".local/share/goose", ".aider.conf.yml", ".config/io.datasette.llm", ".continue", ".codeium",
    ".config/zed", ".config/crush", ".local/share/crush", ".qwen", ".config/amp", ".local/share/amp",
    ".copilot", ".config/openai", ".openai", ".anthropic", ".config/anthropic", ".ollama/id_ed25519",
    ".env", ".envrc", ".secrets", ".wgetrc", ".curlrc", ".config/containers/auth.json",
    ".local/share/containers", ".config/helm", ".helm", ".config/argocd", ".config/heroku",
    ".config/netlify", ".netlify", ".vercel", ".local/share/com.vercel.cli", ".config/configstore",
    ".config/.wrangler", ".wrangler", ".fly", ".railway", ".supabase", ".config/stripe",
    ".pulumi/credentials.json",
    ".databrickscfg", ".dbt", ".snowflake", ".snowsql", ".config/gspread", ".kaggle", ".config/kaggle",
    ".config/wandb", ".jupyter", ".config/pypoetry/auth.toml", ".local/share/uv/credentials",
    ".rye/credentials", ".config/rye", ".composer/auth.json", ".config/composer/auth.json",
    ".nuget/NuGet", ".config/NuGet", ".hex/hex.config", ".config/hex", ".pub-cache/credentials.json",
    ".config/dart", ".conan2/credentials.json", ".conan/.conan.db", ".ivy2/.credentials",
    ".sbt/.credentials", ".cabal/config", ".julia/servers", ".platformio/appstate.json",
    ".rattler", ".android", ".gitlab-token", ".config/lab", ".config/tea", ".config/remmina",
    ".local/share/remmina", ".config/filezilla", ".config/sqlite", ".config/mutt", ".mutt", ".muttrc",
    ".msmtprc", ".mbsyncrc", ".offlineimaprc", ".fetchmailrc", ".config/msmtp", ".config/neomutt",
    ".config/age", ".age", ".config/fish/fish_variables", ".minikube", ".krew", ".k9s", ".step",
    ".config/rbw", ".local/share/rbw", ".config/1Password", ".lastpass", ".config/systemd/user",
    ".bitcoin", ".ethereum", ".electrum", ".config/solana", ".subversion/auth", ".config/hg", ".hgrc",
    ".config/evolution", ".local/share/evolution", ".local/share/TelegramDesktop", ".config/obs-studio",
)  # fmt: skip
# Sockets of other programs lie here: who can talk to the session bus can have anything started outside.
_ESCAPE_SOCKETS = (
    "/run",
    "/var/run",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/spool/cron",
    "/var/tmp",
)
# Keys of the system, which root could read, and what a kernel says of the whole machine.
_SYSTEM = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/krb5.keytab", "/etc/wireguard",
    "/etc/openvpn", "/etc/ipsec.secrets", "/etc/NetworkManager/system-connections", "/etc/kubernetes",
    "/etc/rancher", "/var/lib/kubelet", "/var/lib/rancher", "/var/lib/containers", "/var/backups",
    "/var/mail", "/var/spool/mail", "/var/lib/sss", "/var/lib/NetworkManager", "/var/lib/bluetooth",
    "/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kallsyms", "/proc/kcore", "/proc/key-users",
    "/proc/keys", "/proc/kmsg", "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags",
    "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/slabinfo", "/proc/timer_list",
    "/proc/timer_stats", "/proc/vmallocinfo", "/sys/devices/virtual/powercap", "/sys/firmware",
    "/sys/fs/bpf", "/sys/fs/pstore", "/sys/kernel/debug", "/sys/kernel/security", "/sys/kernel/tracing",
)  # fmt: skip
_HOST_KEYS = ("/etc/ssh", ("ssh_host_", "_key"))
_VARIABLES = (
    "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AZURE_CONFIG_DIR", "BOTO_CONFIG", "CLAUDE_CONFIG_DIR",
    "CLOUDSDK_CONFIG", "CODEX_HOME", "DOCKER_CONFIG", "GH_CONFIG_DIR", "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS", "HELM_CONFIG_HOME", "KUBECONFIG", "NETRC", "NPM_CONFIG_USERCONFIG",
    "PASSWORD_STORE_DIR", "PGPASSFILE", "PIP_CONFIG_FILE", "REGISTRY_AUTH_FILE", "WGETRC",
)  # fmt: skip
"""Variables that say where files with keys lie."""


def secret_paths(home: str, environ: Mapping[str, str], lookups: FileLookups) -> tuple[str, ...]:
    """Return the existing files and folders that hold secrets of the user or the system, links resolved."""
    own = (f"{home}/{name}" for name in names_there(home, _HOME, lookups))
    elsewhere = (
        os.path.join(environ[variable], name)
        for variable in RELOCATED
        if environ.get(variable, "").startswith("/")
        for name in relocated_names(_HOME, variable)
        if name
    )
    named = (
        path
        for variable in _VARIABLES
        for path in environ.get(variable, "").split(os.pathsep)
        if path.startswith("/") and path.strip("/")
    )
    folder, (start, end) = _HOST_KEYS
    keys = (name for name in lookups.names(folder) if name.startswith(start) and name.endswith(end))
    system = (*_SYSTEM, *(f"{folder}/{name}" for name in sorted(keys)))
    readable = (path for path in system if lookups.mode(path) and os.access(path, os.R_OK))
    return existing_paths((*own, *elsewhere, *named, *readable), lookups)


def names_there(folder: str, names: Iterable[str], lookups: FileLookups) -> Iterator[str]:
    """Yield those of many names below a folder that may exist: their first part does."""
    there = lookups.names(folder)
    is_known = 0 < len(there) < MAX_ENTRIES  # else it has too many, or cannot be listed
    yield from (name for name in names if not is_known or not name or name.partition("/")[0] in there)


def escape_sockets(lookups: FileLookups) -> tuple[str, ...]:
    """Return the existing folders with sockets of other programs, links resolved."""
    return existing_paths(_ESCAPE_SOCKETS, lookups)


def existing_paths(paths: Iterable[str], lookups: FileLookups) -> tuple[str, ...]:
    """Return the paths that exist, links resolved, without duplicates."""
    return tuple(dict.fromkeys(lookups.real_path(path) for path in paths if lookups.mode(path)))


_RACY_NS = 100_000_000  # a folder that changed so shortly before it was read may change unseen
_GIT = ".git"
_NAMES = frozenset({_GIT, "HEAD", "objects", "refs", "commondir"})

_Folder = tuple[tuple[int, ...], dict[str, bool], tuple[str, ...], tuple[str, ...]]
"""When it was read, its names that matter, the folders in it, and the links to temporary folders."""


class FolderTree:
    """The folders of a workspace with their names that matter; a folder is read again if it changed.

    A folder's time of change can't be set by a program, unlike its time of modification.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._temporary = str(temporary_base())
        self._known: dict[str, _Folder] = {}

    @property
    def temporary_links(self) -> list[str]:
        """The links in the folders that were returned last to what commands alone have written."""
        return [link for _, _, _, links in self._known.values() for link in links]

    def folders(self) -> dict[str, dict[str, bool]]:
        """Return all folders with those of their names that matter."""
        known = self._known
        found = dict[str, _Folder]()
        pending = [self._root]
        while pending:
            path = pending.pop()
            try:
                status = os.lstat(path)
                stamp = (status.st_dev, status.st_ino, status.st_ctime_ns, status.st_mtime_ns)
                before = known.get(path)
                if before is None or before[0] != stamp:
                    before = self._read(path, stamp)
            except OSError:
                continue
            found[path] = before
            pending += before[2]
        self._known = found
        return {path: names for path, (_, names, _, _) in found.items()}

    def _read(self, path: str, stamp: tuple[int, ...]) -> _Folder:
        now = time.time_ns()
        names: dict[str, bool] = {}
        folders = []
        links = []
        with os.scandir(path) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if entry.is_symlink() and is_inside(os.path.realpath(entry.path), self._temporary):
                    links.append(entry.path)
                if is_folder:
                    folders.append(entry.path)
                folded = entry.name.casefold()
                if entry.name in _NAMES or may_begin_waiting(entry.name):
                    names[entry.name] = is_folder
                elif folded == _GIT:  # the same on some disks
                    names[_GIT] = is_folder
        if "HEAD" in names and names.get("objects"):  # hundreds, with nothing in them that git runs
            folders.remove(os.path.join(path, "objects"))
        return (stamp if now - stamp[2] > _RACY_NS else ()), names, tuple(folders), tuple(links)
