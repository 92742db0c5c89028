"""Check the bundled files: read and parse them as the app does."""

from __future__ import annotations

import asyncio
import platform

from helix_desktop.config.build_info import current_build
from helix_desktop.config.paths import load_prompts, resources_dir
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext

text = TextContext("Self-check")

_FOLDERS = ("fonts", "icons", "guide", "prompts", "prompts/tools", "demo", "tokenizers", "licenses")
_MIN_PROMPTS, _MIN_TOOLS = 7, 10
_AGAIN = text("Reinstall Helix Desktop.")
_SAMPLE_TEXT = "Nothing is lost: 123 outputs, naïve café, 東京, def f(x): return x**2  # 🧬"
_COUNTS = {"o200k_base": 28, "cl100k_base": 30}
"""Expected tokens of the sample text by vocabulary: a damaged pattern matcher counts differently."""


async def versions() -> str:
    """Return the build and the versions of what it runs on."""
    import sqlite3

    import plyvel
    from PySide6.QtCore import qVersion

    return text(
        "{build}, Python {python}, Qt {qt}, LevelDB {leveldb}, SQLite {sqlite}",
        build=current_build().text,
        python=platform.python_version(),
        qt=qVersion(),
        leveldb=plyvel.__leveldb_version__,
        sqlite=sqlite3.sqlite_version,
    )


async def resources() -> str:
    """Check that the folders and files that are read by name exist."""
    root = resources_dir()
    missing = [name for name in _FOLDERS if not any((root / name).glob("*"))]
    missing += [name for name in ("models.toml", "icons/helix.svg") if not (root / name).is_file()]
    if missing:
        raise HelixError(text("Missing in {folder}: {names}.", folder=root, names=tuple(missing)), fix=_AGAIN)
    return str(root)


async def prompts() -> str:
    """Check the prompts, the tool descriptions, and the model catalog."""
    from helix_desktop.config.model_catalog import ModelCatalog
    from helix_desktop.tools.tool import parse_description

    texts = {name: prompt.strip() for name, prompt in load_prompts().items()}
    files = sorted((resources_dir() / "prompts" / "tools").glob("*.md"))
    tools = {file.stem: parse_description(file.read_text(encoding="utf-8"))[0] for file in files}
    empty = [name for name, prompt in {**texts, **tools}.items() if not prompt]
    if empty:
        raise HelixError(text("Empty prompts: {names}.", names=tuple(empty)), fix=_AGAIN)
    if len(texts) < _MIN_PROMPTS or len(tools) < _MIN_TOOLS:
        raise HelixError(
            text("Only {prompts} prompts and {tools} tools found.", prompts=len(texts), tools=len(tools)),
            fix=_AGAIN,
        )
    vendors = ModelCatalog.load(resources_dir() / "models.toml").vendors
    if not vendors:
        raise HelixError(text("The model catalog is empty."), fix=_AGAIN)
    return text(
        "prompts: {prompts}, tools: {tools}, model vendors: {vendors}",
        prompts=len(texts),
        tools=len(tools),
        vendors=len(vendors),
    )


async def demo() -> str:
    """Check the script of the guided demo, and the files of its sample projects."""
    from helix_desktop.providers.demo.script import read_scripts
    from helix_desktop.services.sample_workspaces import SAMPLES

    folder = resources_dir() / "demo"
    scripts = read_scripts(folder)
    if SAMPLES[0] not in {script.name for script in scripts}:
        raise HelixError(text("The script for {sample} is missing.", sample=SAMPLES[0]), fix=_AGAIN)
    files = {name: sum(1 for file in (folder / name).rglob("*") if file.is_file()) for name in SAMPLES}
    empty = [name for name, count in files.items() if not count]
    if empty:
        raise HelixError(text("Sample projects without files: {names}.", names=tuple(empty)), fix=_AGAIN)
    return text(
        "scripts: {scripts}, sample projects: {projects}, files: {files}",
        scripts=len(scripts),
        projects=len(files),
        files=sum(files.values()),
    )


async def tokens() -> str:
    """Check that both vocabularies have their hashes and count a known text right."""
    from helix_desktop.providers.tiktoken_counter import TiktokenCounter

    for name, expected in _COUNTS.items():
        counter = TiktokenCounter(resources_dir() / "tokenizers" / f"{name}.tiktoken")
        await counter.load()
        (counted,) = await counter.count([f"{_SAMPLE_TEXT}\n"])
        if counted != expected:
            raise HelixError(
                text(
                    "{name} must count {expected} tokens in a known text (got {counted}).",
                    name=name,
                    expected=expected,
                    counted=counted,
                ),
                fix=_AGAIN,
            )
    return text("{names}: digests verified, known text counted correctly", names=tuple(_COUNTS))


async def licenses() -> str:
    """Check that every component has its name, license and full text."""
    from helix_desktop.config.licenses import all_components

    components = await asyncio.to_thread(all_components)
    incomplete = [component.name for component in components if not component.is_complete]
    if incomplete:
        raise HelixError(text("License texts are missing: {names}.", names=tuple(incomplete)), fix=_AGAIN)
    return text.plural(
        len(components), "%n component with its license text", "%n components with their license texts"
    )
