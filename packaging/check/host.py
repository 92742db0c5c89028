"""How this machine reaches its package registries, read at run time for the systems that checks build."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from distribution import os_release

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_APT_LINES = re.compile(
    r"^(Acquire::(?:http|https)::|Acquire::(?:Check-Valid-Until|Check-Date|Retries|ForceIPv\d)\b)"
)
_PIP_KEYS = ("index-url", "extra-index-url", "proxy", "trusted-host", "timeout", "default-timeout", "retries")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")


@dataclass(frozen=True)
class Source:
    """One source of packages: where, which suites, which components."""

    address: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


def sources(texts: Iterable[str]) -> Iterator[Source]:
    """Read apt's sources, of one line or of fields."""
    for text in texts:
        if re.search(r"^Types:", text, re.MULTILINE | re.IGNORECASE):
            yield from _of_fields(text)
        else:
            yield from _of_lines(text)


def mirror(sources: Iterable[Source], codename: str) -> str | None:
    """Return the address from which this system, of that codename, has its main packages."""
    for source in sources:
        if codename in source.suites and "main" in source.components:
            return source.address
    return None


def debian_mirror() -> str | None:
    """Return the address of Debian that this machine uses; None on others: debootstrap knows one."""
    release = os_release()
    if release.get("ID") != "debian":
        return None
    apt = Path("/etc/apt")
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    texts = [path.read_text(encoding="utf-8") for path in files if path.suffix in {".list", ".sources"}
             and path.is_file()]  # fmt: skip
    return mirror(sources(texts), release.get("VERSION_CODENAME", ""))


def apt_settings(dump: str) -> str:
    """Return the registry settings of `apt-config dump`."""
    return "".join(f"{line}\n" for line in dump.splitlines() if _APT_LINES.match(line))


def pip_settings(listed: str) -> dict[str, str]:
    """Return the registry settings of `pip config list`; places on this disk are left out."""
    settings: dict[str, str] = {}
    for line in listed.splitlines():
        name, equals, value = line.partition("=")
        key = name.rpartition(".")[2]
        addresses = [part for part in value.strip("'\"").split() if not part.startswith(("file:", "/"))]
        if equals and key in _PIP_KEYS and addresses:
            settings["timeout" if key == "default-timeout" else key] = " ".join(addresses)
    return settings


def proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that name a proxy."""
    return {name: value for name, value in environ.items() if name.lower() in _PROXIES}


def carry_into(root: Path) -> dict[str, str]:
    """Let apt and pip below `root` reach their registries as here; return the environment they need."""
    for name in ("resolv.conf", "hosts"):
        shutil.copyfile(Path("/etc", name), root / "etc" / name)
    # Its own name: installing ca-certificates there rewrites the default file.
    certificates = "etc/host-certificates.crt"
    apt = apt_settings(_output("apt-config", "dump"))
    if CERTIFICATES.is_file():
        shutil.copyfile(CERTIFICATES, root / certificates)
        apt += f'Acquire::https::CaInfo "/{certificates}";\n'
    (root / "etc/apt/apt.conf.d/00host").write_text(apt, encoding="utf-8")
    _carry_apt_logins(root)
    pip = pip_settings(_output(sys.executable, "-m", "pip", "config", "list"))
    if CERTIFICATES.is_file():
        pip["cert"] = f"/{certificates}"
    lines = "".join(f"{key} = {value}\n" for key, value in pip.items())
    (root / "etc/pip.conf").write_text(f"[global]\n{lines}", encoding="utf-8")
    return proxies(os.environ)


def _carry_apt_logins(root: Path) -> None:
    logins = Path("/etc/apt/auth.conf.d")
    if Path("/etc/apt/auth.conf").is_file():
        shutil.copy(Path("/etc/apt/auth.conf"), root / "etc/apt")
    if logins.is_dir():
        shutil.copytree(logins, root / "etc/apt/auth.conf.d", dirs_exist_ok=True)


def _output(*command: str) -> str:
    """Return a program's output, empty if there is no such program or it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def _of_fields(text: str) -> Iterator[Source]:
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        joined = re.sub(r"\n[ \t]+", " ", "\n".join(lines))
        pairs = (line.partition(":") for line in joined.splitlines())
        fields = {name.strip().lower(): value.split() for name, _, value in pairs}
        if "deb" not in fields.get("types", []) or fields.get("enabled", ["yes"])[0].lower() == "no":
            continue
        for address in fields.get("uris", []):
            yield Source(address, tuple(fields.get("suites", [])), tuple(fields.get("components", [])))


def _of_lines(text: str) -> Iterator[Source]:
    for line in text.splitlines():
        words = re.sub(r"\[[^\]]*\]", "", line.partition("#")[0]).split()
        if len(words) > 2 and words[0] == "deb":  # noqa: PLR2004 - kind, address, suite
            yield Source(words[1], (words[2],), tuple(words[3:]))
