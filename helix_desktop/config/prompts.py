"""The prompts that ship with the app."""

from __future__ import annotations

from helix_desktop.config.paths import resources_dir


def load_prompts() -> dict[str, str]:
    """Return the prompts for models by name, including the line that names the version."""
    files = sorted((resources_dir() / "prompts").glob("*.md"))
    return {path.stem: path.read_text(encoding="utf-8") for path in files}
