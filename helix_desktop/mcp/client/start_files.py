"""What a server runs and loads from its workspace: files by their digest, folders by what a stat says.

An agent can change both. So they belong to what the user consents to, and are looked at before each start.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.mcp.client.process import build_environment
from helix_desktop.permissions.program import INTERPRETERS
from helix_desktop.permissions.shell_tokens import SHELLS
from helix_desktop.system.files import open_regular, read_start

MAX_ENTRIES = 400_000
"""How many entries of folders are looked at; with more of them nobody can say that nothing changed."""
_MAX_LINKS = 40
_MAX_FOLDERS = 200
_MAX_WORD = 4096
_MAX_READ = 256 * 1024  # bytes of a small file that names others
_CHUNK = 1 << 20
_MAX_HASHED = 256 * _CHUNK  # a second; a model's weights are larger
_SQLITE = b"SQLite format 3\0"
_PROGRAM_FOLDERS = frozenset({"bin", ".bin", "Scripts"})
_SCRIPT = re.compile(
    r".+\.(?:py|pyw|pyz|[cm]?[jt]sx?|sh|bash|zsh|fish|rb|pl|php|lua|jar|class|r|R|jl|tcl|ps1|cmd|bat|wasm|so|dll)"
)
_JAVASCRIPT = re.compile(r".+\.[cm]?[jt]sx?")
_DOWNLOADERS = frozenset({"npx", "pnpx", "bunx", "uvx", "pipx"})
_DOWNLOADS = frozenset({
    ("npm", "exec"), ("npm", "x"), ("pnpm", "dlx"), ("yarn", "dlx"), ("bun", "x"), ("uv", "tool"),
})  # fmt: skip
_PROJECT_RUNNERS = frozenset({
    "ant", "bazel", "bazelisk", "bun", "bundle", "cabal", "cargo", "clj", "cmake", "composer", "dart", "deno",
    "devbox", "direnv", "docker-compose", "dotnet", "dune", "flask", "flutter", "gmake", "go", "gradle",
    "gradlew", "granian", "gunicorn", "hatch", "hypercorn", "inv", "invoke", "just", "lein", "make", "mise",
    "mix", "mvn", "mvnw", "nix", "ninja", "nox",
    "npm", "nx", "pdm", "pixi", "pnpm", "poetry", "rake", "rebar3", "rye", "sbt", "stack", "swift", "task",
    "tox", "turbo", "uv", "uvicorn", "yarn", "zig",
})  # fmt: skip
"""They run what the files of the folder say in which they start."""
_CODE_OPTIONS = frozenset({
    "--from", "--with", "--with-editable", "--with-requirements", "--package", "--prefix", "--project",
    "--directory", "--cwd", "--import", "--require", "--loader", "--manifest-path", "--preload", "--config",
    "-C", "-I", "-cp", "-classpath", "-f", "-p", "-r",
})  # fmt: skip
"""Options whose value a program loads code from."""
_HERE_OPTIONS = frozenset({
    "-", "-c", "-e", "-E", "-m", "-M", "-p", "-r", "--eval", "--import", "--print", "--require", "eval",
})  # fmt: skip
"""Before the script of an interpreter: what it runs may load from the folder in which it starts."""
_RUNNER_FILES = (
    ".env", ".npmrc", ".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs", ".python-version", ".tool-versions",
    ".yarnrc", ".yarnrc.yml", "bunfig.toml", "deno.json", "npm-shrinkwrap.json", "package-lock.json",
    "package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "pyproject.toml", "uv.toml", "yarn.lock",
)  # fmt: skip
_RUNNER_FOLDERS = ("node_modules", ".yarn")
"""What those read that download a package, in the folder in which they start and above."""
_HOME_PLACES = (
    ".bun", ".cache/deno", ".cache/pnpm", ".cache/uv", ".config/uv", ".local/lib", ".local/share/pnpm",
    ".local/share/uv", ".npm", ".npmrc", ".yarnrc.yml",
)  # fmt: skip
"""Where runners keep what they downloaded: of the workspace, where that is the home folder."""
_LOAD_VARIABLE = re.compile(r"(?:.*(?:PATH|LIB|HOME|OPTS?|OPTIONS|PRELOAD|BASE|PREFIX|_ENV)|ENV)")
_NOT_LOADED = frozenset({
    ".git", ".hg", ".svn", ".jj", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
})  # fmt: skip
_DATA = re.compile(r".+\.(?:log|pid|lock|(?:db|sqlite3?)(?:-wal|-shm|-journal)?)")
"""Files that a server writes while it works, and loads no program from."""
_BYTECODE = "__pycache__"


class StartFiles(msgspec.Struct, frozen=True):
    """What a server runs of its workspace, by paths in it: files and links with their digests, and folders.

    A program loads more from the `folders`; the workspace's own is the empty text. With `reads_bytecode` it
    can't be kept from reading what Python compiled beside its sources.
    """

    files: dict[str, str] = {}
    folders: tuple[str, ...] = ()
    reads_bytecode: bool = False

    def __bool__(self) -> bool:
        """Return False if nothing of the workspace is run."""
        return bool(self.files or self.folders)


class FolderState(msgspec.Struct, frozen=True):
    """What stats say of all that is in a folder, as digests; empty: there is too much.

    `uncovered` is of what the file history does not see, `newest` the entry of it that changed last.
    """

    covered: str
    uncovered: str
    newest: str = ""
    newest_ms: int = 0


def find_start_files(config: McpServerConfig, root: Path, inherited: Mapping[str, str]) -> StartFiles:
    """Return what a server runs of its workspace at `root`. It blocks."""
    if config.url:
        return StartFiles()
    return _Finder(config, Path(os.path.realpath(root)), build_environment(inherited, config.env)).find()


def read_folders(
    root: Path, start_files: StartFiles, uncovered: Iterable[str]
) -> tuple[dict[str, FolderState], StartFiles]:
    """Return the state of each folder, and the start files with those that links in them lead to.

    `uncovered` are the places that the file history does not see. It blocks: a second for 100,000 files.
    """
    reader = _FolderReader(Path(os.path.realpath(root)), start_files, frozenset(uncovered))
    states = reader.read()
    return states, msgspec.structs.replace(start_files, files=reader.files, folders=tuple(states))


class _Finder:
    def __init__(self, config: McpServerConfig, root: Path, environment: Mapping[str, str]) -> None:
        self._config = config
        self._root = root
        self._environment = environment
        self._cwd = os.path.join(root, config.cwd)
        self._files: dict[str, str] = {}
        self._folders: set[str] = set()
        self._read_shebangs: set[str] = set()
        self._words = [config.command, *_flat(config.args)]

    def find(self) -> StartFiles:
        names = [_program_name(word) for word in self._words]
        is_download = any(name in _DOWNLOADERS for name in names) or not _DOWNLOADS.isdisjoint(
            zip(names, self._words[1:], strict=False)
        )
        is_loader = is_download or any(map(_is_loader, names))
        self._add_program(self._config.command)
        for name, word in zip(names[1:], self._words[1:], strict=True):
            if not os.path.dirname(word) and (_is_loader(name) or name in _DOWNLOADERS):
                self._add_program(word)
        self._add_arguments(names, is_loader)
        if is_download:
            self._add_runner_files()
        if is_loader:
            self._add_places_of_home()
        if not is_download and (
            any(name in _PROJECT_RUNNERS for name in names)
            or ("compose" in self._words and {"docker", "podman"} & set(names))
        ):
            self._add_folder(self._cwd)
        self._add_variables()
        reads_bytecode = any(re.fullmatch(r"-[A-Za-z]*[IE][A-Za-z]*", word) for word in self._words)
        return StartFiles(dict(sorted(self._files.items())), tuple(sorted(self._folders)), reads_bytecode)

    def _add_program(self, word: str) -> None:
        """Add a program by its path or name, if it is of the workspace, and what its first line names."""
        path = (
            os.path.join(self._cwd, os.path.expanduser(word))
            if os.path.dirname(word)
            else shutil.which(word, path=self._environment.get("PATH", ""))
        )
        if not path:
            return
        path = os.path.join(self._cwd, path)
        final = self._add_file(path, is_loaded=True)
        for file in {path, final}:
            folder, name = os.path.split(os.path.dirname(file))
            if name in _PROGRAM_FOLDERS:
                self._add_linked_sources(Path(folder))

    def _add_arguments(self, names: Sequence[str], is_loader: bool) -> None:
        """Add the arguments that are files of the workspace, and folders that a program is loaded from."""
        loader_at = next(
            (at for at, name in enumerate(names) if _is_loader(name) or name in _DOWNLOADERS), None
        )
        is_before_script = loader_at is not None
        before = ""
        for at, word in enumerate(self._words[1:], 1):
            is_code = is_loader and (before in _CODE_OPTIONS or word.partition("=")[0] in _CODE_OPTIONS)
            is_script = False
            if loader_at is not None and at > loader_at and is_before_script:
                if _is_here_option(word) and names[loader_at] not in _DOWNLOADERS:
                    self._add_folder(self._cwd)
                is_script = not word.startswith("-")
                is_before_script = not is_script
            before = word
            for path in _paths_in(word):
                full = os.path.join(self._cwd, os.path.expanduser(path))
                if os.path.isdir(full):
                    if is_code or is_script:
                        self._add_folder(full)
                elif os.path.lexists(full):
                    is_loaded = is_code or is_script or bool(_SCRIPT.fullmatch(path))
                    self._add_file(full, is_loaded)

    def _add_runner_files(self) -> None:
        """Add what a runner reads before it downloads, or runs in place of that."""
        folder = Path(os.path.realpath(self._cwd))
        self._add_packages_above(folder)
        while folder.is_relative_to(self._root):
            for name in _RUNNER_FILES:
                if (folder / name).is_file():
                    self._add_file(os.path.join(folder, name))
            own = _text_of(folder / "package.json")
            programs = folder / "node_modules" / ".bin"
            for word in self._words[1:]:
                package = re.sub(r"(?<=.)@.*", "", word)
                program = package.rpartition("/")[2]
                if not word.startswith("-") and program and (
                    f'"{package}"' in own or os.path.lexists(programs / program)
                ):  # fmt: skip
                    self._add_folder(str(folder))  # it is of this project
            folder = folder.parent

    def _add_packages_above(self, folder: Path) -> None:
        """Add where Node looks for the packages of a script."""
        while folder.is_relative_to(self._root):
            for name in _RUNNER_FOLDERS:
                if (folder / name).is_dir():
                    self._add_folder(os.path.join(folder, name))
            folder = folder.parent

    def _add_places_of_home(self) -> None:
        home = self._environment.get("HOME") or self._environment.get("USERPROFILE") or ""
        if not os.path.isabs(home):
            return
        self._add_linked_sources(Path(home, ".local"))
        for place in _HOME_PLACES:
            full = os.path.join(home, place)
            if os.path.isdir(full):
                self._add_folder(full)
            elif os.path.isfile(full):
                self._add_file(full)

    def _add_variables(self) -> None:
        """Add what variables name: the files, and the folders of those that programs load from."""
        for name, value in {"PATH": self._environment.get("PATH", ""), **self._config.env}.items():
            is_loaded = bool(_LOAD_VARIABLE.fullmatch(name))
            parts = [value, *value.split(os.pathsep)] if name == "PATH" else _flat(value.split(os.pathsep))
            for path in (path for part in parts for path in _paths_in(part)):
                full = os.path.join(self._cwd, os.path.expanduser(path))
                if os.path.isdir(full):
                    if is_loaded:
                        self._add_folder(full)
                elif name != "PATH" and os.path.lexists(full):
                    self._add_file(full, is_loaded)

    def _add_linked_sources(self, prefix: Path) -> None:
        """Add a Python environment of the workspace, and sources of it that an environment links to."""
        if (prefix / "pyvenv.cfg").is_file():
            self._add_folder(str(prefix))
        sources = re.compile(re.escape(str(self._root)) + r"[^'\"\n;]*")
        for packages in (*prefix.glob("lib*/python*/site-packages"), prefix / "Lib" / "site-packages"):
            for file in (
                *packages.glob("*.pth"),
                *packages.glob("__editable__*"),
                *packages.glob("*.egg-link"),
            ):
                for source in sources.findall(_text_of(file)):
                    folder = source.strip() if os.path.isdir(source.strip()) else str(self._root)
                    self._add_folder(folder)

    def _add_file(self, path: str, is_loaded: bool = False) -> str:
        """Add a file and the links that lead to it, if they are of the workspace; return its real path.

        If it `is_loaded`, or can be run, more may be loaded from its folder. A database else is data.
        """
        final, links = _trace(path)
        self._add_links(links)
        inside = _inside(self._root, final)
        is_loaded = is_loaded or (inside is not None and os.access(final, os.X_OK))
        if inside is not None and (is_loaded or read_start(final, len(_SQLITE)) != _SQLITE):
            digest = _file_digest(final)
            if digest:
                self._files[inside] = digest
        if is_loaded:
            for file in (final, os.path.normpath(path)):
                if _inside(self._root, file) is not None:
                    self._add_folder(_load_folder(file))
                    if _JAVASCRIPT.fullmatch(file):
                        self._add_packages_above(Path(file).parent)
            self._add_shebang(final)
        return final

    def _add_links(self, links: Iterable[tuple[str, str]]) -> None:
        for link, target in links:
            inside = _inside(self._root, link)
            if inside is not None:
                self._files[inside] = f"-> {target}"

    def _add_shebang(self, file: str) -> None:
        if file in self._read_shebangs:
            return
        self._read_shebangs.add(file)
        for word in _shebang(file):
            if os.path.isabs(word) or _is_loader(_program_name(word)):
                self._add_program(word)

    def _add_folder(self, path: str) -> None:
        """Add a folder of the workspace from which a program may load more, and the links that lead to it."""
        final, links = _trace(path)
        self._add_links(links)
        inside = _inside(self._root, final)
        if inside is not None:
            self._folders.add(inside)


class _FolderReader:
    def __init__(self, root: Path, start_files: StartFiles, uncovered: frozenset[str]) -> None:
        self.files = dict(start_files.files)
        self._root = root
        self._uncovered = uncovered
        self._folders = list(start_files.folders)
        self._skipped = _NOT_LOADED if start_files.reads_bytecode else _NOT_LOADED | {_BYTECODE}
        self._left = MAX_ENTRIES

    def read(self) -> dict[str, FolderState]:
        states: dict[str, FolderState] = {}
        for folder in self._folders:  # grows by what links lead to
            if len(states) >= _MAX_FOLDERS:
                self._left = -1
            if not any(folder != other and _is_below(folder, other) for other in states):
                states[folder] = self._read_folder(folder)
        return states

    def _read_folder(self, folder: str) -> FolderState:
        digests = hashlib.sha256(), hashlib.sha256()
        newest = ""
        newest_ns = 0
        waiting = [(folder, any(_is_below(folder, place) for place in self._uncovered))]
        while waiting and self._left >= 0:
            present, is_uncovered = waiting.pop()
            try:
                entries = sorted(os.scandir(self._root / present), key=lambda entry: entry.name)
            except OSError:
                digests[is_uncovered].update(f"{present}: closed\n".encode("utf-8", "surrogateescape"))
                continue
            self._left -= len(entries)
            for entry in entries:
                if entry.name in self._skipped:
                    continue
                path = f"{present}/{entry.name}" if present else entry.name
                is_hidden = is_uncovered or path in self._uncovered
                try:
                    found = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # it is gone: the folder's own stat says so
                if stat.S_ISDIR(found.st_mode):
                    waiting.append((path, is_hidden))
                    line = f"{path}/ {found.st_mode}\n"
                elif is_hidden and _DATA.fullmatch(entry.name):
                    continue
                else:
                    line = f"{path} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_mode}\n"
                    if is_hidden and found.st_ctime_ns > newest_ns:
                        newest = path
                        newest_ns = found.st_ctime_ns
                digests[is_hidden].update(line.encode("utf-8", "surrogateescape"))
                if stat.S_ISLNK(found.st_mode):
                    self._follow(path)
        if self._left < 0:
            return FolderState("", "")
        covered, uncovered = (digest.hexdigest()[:32] for digest in digests)
        return FolderState(covered, uncovered, newest, newest_ns // 1_000_000)

    def _follow(self, path: str) -> None:
        """Have what a link leads to read too, if it is of the workspace."""
        final, links = _trace(os.path.join(self._root, path))
        inside = _inside(self._root, final)
        if inside is None or any(_is_below(inside, folder) for folder in self._folders):
            return
        for link, target in links:
            named = _inside(self._root, link)
            if named is not None:
                self.files[named] = f"-> {target}"
        if os.path.isdir(final):
            self._folders.append(inside)
        elif digest := _file_digest(final):
            self.files[inside] = digest


def _is_below(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")


def _inside(root: Path, path: str) -> str | None:
    """Return a path of the workspace relative to it, with `/`; None for another."""
    try:
        inside = Path(path).relative_to(root).as_posix()
    except ValueError:
        return None
    return "" if inside == "." else inside


def _trace(path: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the real path of what stands at an absolute path, and each link on the way with its target."""
    links: list[tuple[str, str]] = []
    parts = list(reversed(Path(os.path.abspath(path)).parts))
    present = parts.pop()
    while parts:
        part = parts.pop()
        if part == "..":
            present = os.path.dirname(present)
            continue
        step = os.path.join(present, part)
        try:
            target = os.readlink(step)
        except (OSError, ValueError):
            present = step
            continue
        links.append((step, target))
        if len(links) > _MAX_LINKS:
            return step, links
        if os.path.isabs(target):
            present = Path(target).anchor
        parts.extend(reversed([word for word in Path(target).parts if word != Path(target).anchor]))
    return present, links


def _load_folder(path: str) -> str:
    """Return the folder below which a program may load more: that of its file, above `bin` its parent."""
    folder = os.path.dirname(path)
    return os.path.dirname(folder) if os.path.basename(folder) in _PROGRAM_FOLDERS else folder


def _file_digest(path: str) -> str:
    """Return the SHA-256 of a file, its size and times if it is large, empty of what is no readable file."""
    try:
        with open_regular(path) as file:
            found = os.fstat(file.fileno())
            if found.st_size > _MAX_HASHED:
                return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
            digest = hashlib.sha256()
            while data := file.read(_CHUNK):
                digest.update(data)
    except OSError:
        return ""
    return digest.hexdigest()


def _text_of(path: Path | str) -> str:
    return read_start(path, _MAX_READ).decode("utf-8", "replace")


def _shebang(path: str) -> list[str]:
    line = read_start(path, 512).partition(b"\n")[0]
    return line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []


def _program_name(word: str) -> str:
    return re.sub(r"\.(?:exe|cmd|bat)$", "", os.path.basename(word.replace("\\", "/")).lower())


def _is_loader(name: str) -> bool:
    """Return True of a program that loads what it runs from files: an interpreter, a shell, a runner."""
    return bool(INTERPRETERS.fullmatch(name)) or name in SHELLS or name in _EXTRA_LOADERS


_EXTRA_LOADERS = _PROJECT_RUNNERS | {
    "busybox", "cmd", "fastmcp", "java", "mcp", "nodemon", "powershell", "pwsh", "py", "pypy",
    "pypy3", "pythonw", "rscript", "ts-node", "tsx",
}  # fmt: skip


def _is_here_option(word: str) -> bool:
    """Return True of an option with which what is run may come from the folder in which it starts."""
    return word.partition("=")[0] in _HERE_OPTIONS or bool(re.fullmatch(r"-[A-Za-z]*[cm]", word))


def _flat(words: Iterable[str]) -> Iterator[str]:
    """Return words, also those within a word that is a command of its own."""
    for word in words:
        yield word
        if re.search(r"\s", word):
            try:
                yield from shlex.split(word)
            except ValueError:
                yield from word.split()


def _paths_in(word: str) -> Iterator[str]:
    """Return what may be a path in a word: itself, the value of an option, the parts of a search path."""
    if not word or len(word) > _MAX_WORD or "\0" in word:
        return
    value = ""
    if "=" in word:
        value = word.partition("=")[2]
    elif re.match(r"-[A-Za-z][^-]", word):
        value = word[2:]
    for text in {word, value} - {""}:
        for part in {text, *text.split(os.pathsep)} - {""}:
            yield part.removeprefix("file://").removeprefix("@")
