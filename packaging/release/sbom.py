"""The bill of materials of a release (CycloneDX 1.6): the packages of the lock, and what is not Python.

The same checkout gives the same bytes. It covers all systems: a part that only some of them get says so.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from build_identity import epoch, version

Json = dict[str, object]

NAME = "helix-desktop.cdx.json"
PARTS = Path(__file__).with_name("parts.toml")
# The app's list of its parts that are no packages, see config/licenses.py.
PARTS_FILE = Path("resources", "licenses", "parts.toml")
_SPDX = re.compile(r"[\w.+-]+(?: (?:AND|OR|WITH) [\w.+-]+)*")
_ENTRY = re.compile(
    r"^(?P<name>[a-z0-9-]+)==(?P<version>[\w.]+)(?: ; (?P<marker>[^\\\n]+?))? \\\n"
    r"(?P<hashes>(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)(?P<via>(?:    #.*\n?)*)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class LockedPackage:
    """One entry of the lock: a package, when it is installed, and which packages require it."""

    name: str
    version: str
    marker: str = ""
    hashes: tuple[str, ...] = ()
    asked_by: tuple[str, ...] = field(default=())

    @property
    def purl(self) -> str:
        """The address under which everybody knows it."""
        return f"pkg:pypi/{self.name}@{self.version}"


def read_lock(text: str) -> list[LockedPackage]:
    """Read a lock. Raise ValueError if it has an entry that cannot be parsed."""
    packages = [
        LockedPackage(
            entry["name"],
            entry["version"],
            entry["marker"] or "",
            tuple(re.findall("[0-9a-f]{64}", entry["hashes"])),
            tuple(re.findall(r"#\s+(?:via )?([\w.-]+)(?: \(.*\))?$", entry["via"], re.MULTILINE)),
        )
        for entry in _ENTRY.finditer(text)
    ]
    if len(packages) != len(re.findall("^[a-z0-9-]+==", text, re.MULTILINE)):
        raise ValueError("the lock holds entries that cannot be read; make it again with ./helix lock.")
    return sorted(packages, key=lambda package: (package.name, package.version))


def bill(root: Path) -> Json:
    """Return the bill of a checkout. Raise ValueError if a license is not named, and SetupFailed."""
    packages = read_lock((root / "requirements.txt").read_text(encoding="utf-8"))
    parts = tomllib.loads(PARTS.read_text(encoding="utf-8"))
    if unnamed := sorted({package.name for package in packages} - parts["packages"].keys()):
        raise ValueError(f"{PARTS.name} names no license of {', '.join(unnamed)}. Read it off the package.")
    others = [*parts["other"], *_other_parts(root, {part["name"] for part in parts["other"]})]
    app = _app(version(root))
    components = [
        *(_package(package, parts["packages"][package.name]) for package in packages),
        *(_other(other) for other in others),
    ]
    body: Json = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch(root), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": app,
        },
        "components": components,
        "dependencies": list(_dependencies(str(app["bom-ref"]), packages, others)),
    }
    # Derived from its content: the same bill has the same number, another one has another.
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "serialNumber": f"urn:uuid:{number}",
        **body,
    }


def _other_parts(root: Path, known_names: Collection[str]) -> Iterator[dict[str, str]]:
    """Yield the app's listed parts, except itself and those known better."""
    _, *parts = tomllib.loads((root / PARTS_FILE).read_text(encoding="utf-8"))["part"]
    for part in parts:
        # Parts that cover packages are in the lock; `@` says that each installer has its own version.
        if part["name"] not in known_names and "covers" not in part:
            entry = {"name": part["name"], "license": part["license"], "within": "helix-desktop"}
            yield entry | ({} if part.get("version", "@").startswith("@") else {"version": part["version"]})


def _app(version_: str) -> Json:
    return {
        "type": "application",
        "bom-ref": "helix-desktop",
        "name": "helix-desktop",
        "version": version_,
        "supplier": {"name": "The Helix Desktop authors"},
        "licenses": [{"license": {"id": "MIT"}}],
    }


def _package(package: LockedPackage, expression: str) -> Json:
    component: Json = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "licenses": _licenses(expression),
        "purl": package.purl,
    }
    # The lock allows several files per package, one for each system: the hash tells which one a build took.
    properties = [("helix:installed-when", package.marker)] if package.marker else []
    properties += [("helix:file-sha256", digest) for digest in package.hashes]
    return component | {"properties": [{"name": name, "value": value} for name, value in properties]}


def _other(part: dict[str, str]) -> Json:
    component: Json = {"type": "library", "bom-ref": _reference(part), "name": part["name"]}
    if "version" in part:
        component["version"] = part["version"]
    if "url" in part:
        component["externalReferences"] = [{"type": "website", "url": part["url"]}]
    properties = [{"name": "helix:within", "value": part["within"]}]
    return component | {"licenses": _licenses(part["license"]), "properties": properties}


def _reference(part: dict[str, str]) -> str:
    return f"within:{part['within']}/{quote(part['name'])}"


def _licenses(expression: str) -> list[Json]:
    if not _SPDX.fullmatch(expression):
        return [{"license": {"name": expression}}]
    return [{"expression": expression} if " " in expression else {"license": {"id": expression}}]


def _dependencies(
    app: str, packages: Sequence[LockedPackage], other: Sequence[dict[str, str]]
) -> Iterator[Json]:
    """Return the needs of each part: packages by the lock, others by what includes them."""
    needs: dict[str, set[str]] = {app: set()}
    for package in packages:
        needs.setdefault(package.purl, set())
    references = {
        package.name: [same.purl for same in packages if same.name == package.name] for package in packages
    }
    references |= {f"{package.name}=={package.version}": [package.purl] for package in packages}
    references[app] = [app]
    for package in packages:
        for asker in package.asked_by:
            for reference in references.get(asker, ()):
                needs[reference].add(package.purl)
    for part in other:
        needs.setdefault(_reference(part), set())
        if part["within"] not in references:
            raise ValueError(
                f"{PARTS.name}: {part['name']} is within {part['within']}, which the lock lacks."
            )
        for reference in references[part["within"]]:
            needs[reference].add(_reference(part))
    for name, required in sorted(needs.items()):
        yield {"ref": name, "dependsOn": sorted(required)}


def text(root: Path) -> str:
    """Return the bill as it is shipped."""
    return json.dumps(bill(root), indent=2, ensure_ascii=False) + "\n"


def build(root: Path, words: Sequence[str]) -> int:
    """Write dist/helix-desktop.cdx.json."""
    (root / "dist").mkdir(exist_ok=True)
    (root / "dist" / NAME).write_text(text(root), encoding="utf-8", newline="\n")
    sys.stdout.write(f"{Path('dist', NAME)}\n")
    return 0
