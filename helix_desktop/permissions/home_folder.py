"""What sandboxed commands see of a home folder: the one list of it, which the user can change.

Names of files and folders below the home folder: those that are seen, as keys lie in more places than anybody
knows. A folder that holds keys next to what a build needs is not listed itself, only its parts are. What
builds need has to be here: if they fail, the sandbox gets switched off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Tools")

_VERSION_MANAGERS = (
    ".asdf", ".elan", ".fnm", ".ghcup", ".goenv", ".gvm", ".jabba", ".jdks", ".jenv", ".juliaup", ".kiex",
    ".local/share/fnm", ".local/share/mise", ".local/share/nvm", ".local/share/rtx", ".local/share/swiftly",
    ".local/state/fnm_multishells", ".n", ".nodenv", ".nodebrew", ".nvm", ".phpbrew", ".proto", ".pyenv",
    ".rbenv", ".rustup", ".rvm", ".sdkman", ".swiftly", ".tfenv", ".volta", ".zvm", "fvm", "n",
)  # fmt: skip
_TOOLCHAINS = (
    ".bun", ".cabal/bin", ".cabal/packages", ".cabal/store", ".cargo/bin", ".cargo/env", ".deno", ".dotnet",
    ".elm", ".emsdk", ".espressif", ".local/bin", ".local/go", ".local/include", ".local/lib", ".local/pipx",
    ".local/share/gem", ".local/share/hatch", ".local/share/pipx", ".local/share/pnpm",
    ".local/share/pypoetry/venv", ".local/share/uv/python", ".local/share/uv/tools", ".local/share/zig",
    ".local/state/nix/profiles", ".mix/archives", ".mix/elixir", ".nix-defexpr", ".nix-profile",
    ".npm-global", ".npm-packages", ".opam", ".pixi/bin", ".pixi/envs", ".platformio/packages",
    ".platformio/penv", ".platformio/platforms", ".poetry", ".pulumi/bin", ".rye/py", ".rye/shims",
    ".rye/tools", ".stack/programs", ".wasmtime", ".wasmer/bin", "Android/Sdk", "R", "flutter", "sdk",
)  # fmt: skip
_ENVIRONMENTS = (
    ".cache/pypoetry/virtualenvs", ".conda/envs", ".conda/pkgs", ".local/share/mamba",
    ".local/share/virtualenvs", ".mamba", ".micromamba", ".venvs", ".virtualenvs", "anaconda3", "mambaforge",
    "micromamba", "miniconda3", "miniforge3",
)  # fmt: skip
_CACHES = (
    ".arduino15/packages", ".bundle/cache", ".bundle/gems", ".cache/Cypress", ".cache/Homebrew",
    ".cache/JetBrains/dist", ".cache/R", ".cache/bazel", ".cache/bazelisk", ".cache/ccache",
    ".cache/clangd", ".cache/composer", ".cache/coursier", ".cache/deno", ".cache/dune", ".cache/electron",
    ".cache/electron-builder", ".cache/fontconfig", ".cache/go-build", ".cache/golangci-lint",
    ".cache/hatch", ".cache/huggingface/datasets", ".cache/huggingface/hub", ".cache/ms-playwright",
    ".cache/mypy", ".cache/nix", ".cache/node", ".cache/node-gyp", ".cache/pdm", ".cache/pip",
    ".cache/pnpm", ".cache/pre-commit", ".cache/prisma", ".cache/puppeteer", ".cache/pypoetry/artifacts",
    ".cache/pypoetry/cache", ".cache/rattler/cache", ".cache/ruff", ".cache/sccache", ".cache/selenium",
    ".cache/torch", ".cache/typescript", ".cache/uv", ".cache/vcpkg", ".cache/yarn", ".cache/zig",
    ".cargo/git", ".cargo/registry", ".ccache", ".composer/cache", ".composer/vendor", ".conan/data",
    ".conan/profiles", ".conan2/p", ".conan2/profiles", ".config/composer/vendor", ".config/yarn/global",
    ".coursier", ".gem/ruby", ".gradle/caches", ".gradle/jdks", ".gradle/native", ".gradle/wrapper",
    ".hex/packages", ".ivy2/cache", ".ivy2/local", ".julia/artifacts", ".julia/compiled",
    ".julia/environments", ".julia/packages", ".julia/registries", ".konan", ".local/share/coursier",
    ".local/share/pnpm/store", ".local/share/tectonic", ".local/share/typst", ".m2/repository",
    ".m2/wrapper", ".nltk_data", ".npm/_cacache", ".nuget/packages", ".pnpm-store", ".pub-cache/bin",
    ".pub-cache/git", ".pub-cache/global_packages", ".pub-cache/hosted", ".sbt/1.0/plugins", ".sbt/boot",
    ".sbt/launchers", ".stack/pantry", ".stack/snapshots", ".terraform.d/plugin-cache", ".vcpkg",
    ".yarn/berry", ".yarn/cache", ".yarn/releases", "go/bin", "go/pkg", "nltk_data", "vcpkg",
)  # fmt: skip
_PLAIN_FILES = (
    ".clang-format", ".clang-tidy", ".config/git/attributes", ".config/git/ignore", ".editorconfig",
    ".fonts", ".gitattributes", ".gitignore", ".gitignore_global", ".gitmessage", ".local/share/fonts",
    ".node-version", ".nvmrc", ".python-version", ".ruby-version", ".rustfmt.toml", ".terminfo",
    ".tool-versions", ".config/fontconfig", ".config/rustfmt", ".agents/skills",
)  # fmt: skip

DEFAULT_HOME_NAMES = tuple(
    sorted({*_VERSION_MANAGERS, *_TOOLCHAINS, *_ENVIRONMENTS, *_CACHES, *_PLAIN_FILES})
)
"""Toolchains, package caches, virtual environments, skills, and files without keys that programs obey."""

FILTERED_HOME_FILES = (
    ".gitconfig", ".config/git/config", ".cargo/config", ".cargo/config.toml", ".config/go/env",
    ".config/uv/uv.toml", ".config/mise/config.toml", ".config/pypoetry/config.toml", ".condarc",
)  # fmt: skip
"""Files that programs obey, such as for the name in a commit; lines that may hold a key are left out."""

RELOCATED: Mapping[str, str] = {
    "ASDF_DATA_DIR": ".asdf",
    "BUN_INSTALL": ".bun",
    "CARGO_HOME": ".cargo",
    "CONDA_PKGS_DIRS": ".conda/pkgs",
    "DENO_INSTALL": ".deno",
    "DOTNET_ROOT": ".dotnet",
    "FNM_DIR": ".fnm",
    "GOPATH": "go",
    "GRADLE_USER_HOME": ".gradle",
    "JULIA_DEPOT_PATH": ".julia",
    "MISE_DATA_DIR": ".local/share/mise",
    "NVM_DIR": ".nvm",
    "PNPM_HOME": ".local/share/pnpm",
    "PYENV_ROOT": ".pyenv",
    "RBENV_ROOT": ".rbenv",
    "RUSTUP_HOME": ".rustup",
    "SDKMAN_DIR": ".sdkman",
    "VOLTA_HOME": ".volta",
    "WORKON_HOME": ".virtualenvs",
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
"""Variables that say where a folder of the list lies instead."""

_MIXED = (".cache", ".config", ".local", ".local/share", ".local/state")


def home_names(added: Iterable[str], removed: Iterable[str]) -> tuple[str, ...]:
    """Return the names that commands see: the default ones with the user's changes, which may be invalid."""
    left_out = {clean for name in removed if (clean := clean_home_name(name))}
    names = (*DEFAULT_HOME_NAMES, *(clean for name in added if (clean := clean_home_name(name))))
    return tuple(dict.fromkeys(name for name in names if name not in left_out))


def clean_home_name(name: str) -> str:
    """Return a name below the home folder without `~/`; empty if it names nothing there, or all of it."""
    stripped = name.strip()
    parts = [part for part in stripped.removeprefix("~/").split("/") if part not in ("", ".")]
    is_outside = stripped.startswith("/") or ".." in parts or parts[:1] == ["~"] or "\0" in name
    return "" if is_outside else "/".join(parts)


def home_faults(names: Iterable[str]) -> list[InvalidInput]:
    """Return an error for each of the user's names that names nothing below the home folder."""
    faults: list[InvalidInput] = []
    for name in names:
        if clean_home_name(name):
            continue
        faults.append(
            InvalidInput(
                _text("The name “{name}” is invalid.", name=name.strip()[:80]),
                _text("It must be a path below the home folder."),
                _text("Enter a path such as .cargo or ~/tools."),
            )
        )
    return faults


def relocated_names(names: Iterable[str], variable: str) -> tuple[str, ...]:
    """Return the parts of `names` below the folder of a variable; an empty one is that folder itself."""
    base = RELOCATED[variable]
    return tuple(
        name[len(base) :].lstrip("/") for name in names if name == base or name.startswith(f"{base}/")
    )


def is_mixed(name: str) -> bool:
    """Return True if a folder of this name below a home is never seen as a whole, unless the user says so."""
    return name in _MIXED
