"""Check the bundled files: read and parse them as the app does."""

from __future__ import annotations

import asyncio
import platform

from helix_desktop.config.build_info import current_build
from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.errors import HelixError

_FOLDERS = ("fonts", "icons", "prompts", "prompts/tools", "demo", "tokenizers", "licences")
_MIN_PROMPTS, _MIN_TOOLS = 7, 10
_AGAIN = "Install Helix Desktop again."
_SAMPLE_TEXT = "Nothing is lost: 123 outputs, naïve café, 東京, def f(x): return x**2  # 🧬\n"
_COUNTS = {"o200k_base": 28, "cl100k_base": 30}
"""Expected tokens of the sample text by vocabulary: a damaged pattern matcher counts differently."""


async def versions() -> str:
    """Return the build and the versions of what it runs on."""
    import sqlite3

    import plyvel
    from PySide6.QtCore import qVersion

    parts = (current_build().text, f"Python {platform.python_version()}", f"Qt {qVersion()}")
    return ", ".join((*parts, f"LevelDB {plyvel.__leveldb_version__}", f"SQLite {sqlite3.sqlite_version}"))


async def resources() -> str:
    """Check that the folders and files that are read by name exist."""
    root = resources_dir()
    missing = [name for name in _FOLDERS if not any((root / name).glob("*"))]
    missing += [name for name in ("models.toml", "icons/helix.svg") if not (root / name).is_file()]
    if missing:
        raise HelixError(f"{', '.join(missing)} missing in {root}.", fix=_AGAIN)
    return str(root)


async def prompts() -> str:
    """Check the prompts, the tool descriptions, and the model catalog."""
    from helix_desktop.config.model_catalog import ModelCatalog
    from helix_desktop.config.prompts import load_prompts
    from helix_desktop.tools.registry import parse_description

    texts = {name: text.strip() for name, text in load_prompts().items()}
    files = sorted((resources_dir() / "prompts" / "tools").glob("*.md"))
    tools = {file.stem: parse_description(file.read_text(encoding="utf-8"))[0] for file in files}
    empty = [name for name, text in {**texts, **tools}.items() if not text]
    if empty or len(texts) < _MIN_PROMPTS or len(tools) < _MIN_TOOLS:
        raise HelixError(
            f"{len(texts)} prompts, {len(tools)} tools; empty: {', '.join(empty) or 'none'}.", fix=_AGAIN
        )
    vendors = ModelCatalog.load(resources_dir() / "models.toml").vendors
    if not vendors:
        raise HelixError("The catalogue of models is empty.", fix=_AGAIN)
    return f"{len(texts)} prompts, {len(tools)} tools, {len(vendors)} vendors of models"


async def demo() -> str:
    """Check the script of the guided demo, and the files of its sample projects."""
    from helix_desktop.providers.demo.script import read_scripts
    from helix_desktop.services.sample_workspaces import SAMPLES

    folder = resources_dir() / "demo"
    scripts = read_scripts(folder)
    if SAMPLES[0] not in {script.name for script in scripts}:
        raise HelixError(f"There is no script for {SAMPLES[0]}.", fix=_AGAIN)
    files = {name: sum(1 for file in (folder / name).rglob("*") if file.is_file()) for name in SAMPLES}
    empty = [name for name, count in files.items() if not count]
    if empty:
        raise HelixError(f"The sample project {', '.join(empty)} has no files.", fix=_AGAIN)
    return f"{len(scripts)} script, {sum(files.values())} files in {len(files)} projects"


async def tokens() -> str:
    """Check that both vocabularies have their hashes and count a known text right."""
    from helix_desktop.providers.tiktoken_counter import TiktokenCounter

    for name, expected in _COUNTS.items():
        counter = TiktokenCounter(resources_dir() / "tokenizers" / f"{name}.tiktoken")
        await counter.load()
        (counted,) = await counter.count([_SAMPLE_TEXT])
        if counted != expected:
            raise HelixError(f"{name} counts {counted} tokens of a text that has {expected}.", fix=_AGAIN)
    return f"{' and '.join(_COUNTS)}, hashes verified, a known text counted right"


async def licences() -> str:
    """Check that every component has its name, license and full text."""
    from helix_desktop.config.licenses import all_components

    components = await asyncio.to_thread(all_components)
    incomplete = [component.name for component in components if not component.is_complete]
    if incomplete:
        raise HelixError(f"The terms of {', '.join(incomplete)} are missing.", fix=_AGAIN)
    return f"{len(components)} parts, each with its terms in full"
