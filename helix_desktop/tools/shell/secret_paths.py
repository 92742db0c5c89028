"""The paths of secrets on this machine, and of sockets through which a command could leave its sandbox."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from helix_desktop.domain.permissions.home_folder import RELOCATED, relocated_names

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
_HOST_KEYS = ("/etc/ssh", "ssh_host_*_key")
_VARIABLES = (
    "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AZURE_CONFIG_DIR", "BOTO_CONFIG", "CLAUDE_CONFIG_DIR",
    "CLOUDSDK_CONFIG", "CODEX_HOME", "DOCKER_CONFIG", "GH_CONFIG_DIR", "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS", "HELM_CONFIG_HOME", "KUBECONFIG", "NETRC", "NPM_CONFIG_USERCONFIG",
    "PASSWORD_STORE_DIR", "PGPASSFILE", "PIP_CONFIG_FILE", "REGISTRY_AUTH_FILE", "WGETRC",
)  # fmt: skip
"""Variables that say where files with keys lie."""


def secret_paths(home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the existing files and folders that hold secrets of the user or the system, links resolved."""
    own = (home / name for name in names_there(home, _HOME))
    elsewhere = (
        Path(environ[variable]) / name
        for variable in RELOCATED
        if environ.get(variable, "").startswith("/")
        for name in relocated_names(_HOME, variable)
        if name
    )
    named = (
        Path(path)
        for variable in _VARIABLES
        for path in environ.get(variable, "").split(os.pathsep)
        if path.startswith("/") and path.strip("/")
    )
    folder, pattern = _HOST_KEYS
    system = (*map(Path, _SYSTEM), *Path(folder).glob(pattern))
    readable = (path for path in system if os.access(path, os.R_OK))
    return existing_paths((*own, *elsewhere, *named, *readable))


def names_there(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield those of many names below a folder that may exist: their first part does."""
    try:
        there = set(os.listdir(folder))
    except OSError:
        return
    yield from (name for name in names if not name or name.partition("/")[0] in there)


def escape_sockets() -> tuple[Path, ...]:
    """Return the existing folders with sockets of other programs, links resolved."""
    return existing_paths(Path(name) for name in _ESCAPE_SOCKETS)


def existing_paths(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths that exist, links resolved, without duplicates."""
    resolved = (Path(os.path.realpath(path)) for path in paths if os.path.lexists(path))
    return tuple(dict.fromkeys(path for path in resolved if path.exists()))
