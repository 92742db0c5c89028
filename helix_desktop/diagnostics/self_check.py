"""Check an installation: try each part for real, the machine, and what is started; report what is wrong."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import secrets
import shutil
import sqlite3
import ssl
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.config.build_info import Build, current_build
from helix_desktop.config.languages import LANGUAGE_VARIABLE
from helix_desktop.config.paths import DataDir, load_prompts, resources_dir
from helix_desktop.config.secrets import Keychain, SecretStore, system_keychain
from helix_desktop.diagnostics.rendering import CHECK_NAMES, run_render_checks
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.translatable_text import TextContext, join_sentences, plain_text, verbatim
from helix_desktop.services.app_command import app_command, is_frozen
from helix_desktop.services.samples import with_sample_python
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.system.home import NO_HOME, find_home, home_fault
from helix_desktop.words.translation import Translator, translate

tr = Translator("Self-check")
text = TextContext("Self-check")

_FOLDERS = ("fonts", "icons", "guide", "prompts", "prompts/tools", "demo", "tokenizers", "licenses")
_MIN_PROMPTS = 7
_MIN_TOOLS = 10
_AGAIN = text("Reinstall Helix Desktop.")
_SAMPLE_TEXT = "Nothing is lost: 123 outputs, naïve café, 東京, def f(x): return x**2  # 🧬"
_SAMPLE_TOKENS = 28  # a damaged pattern matcher counts differently


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
    from helix_desktop.services.samples import SAMPLES

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
    """Check that the vocabulary has its hash and counts a known text right."""
    from helix_desktop.providers.tiktoken_counter import VOCABULARY, TiktokenCounter

    counter = TiktokenCounter(resources_dir() / "tokenizers" / f"{VOCABULARY}.tiktoken")
    await counter.load()
    (counted,) = await counter.count([f"{_SAMPLE_TEXT}\n"])
    if counted != _SAMPLE_TOKENS:
        raise HelixError(
            text(
                "{name} must count {expected} tokens in a known text (got {counted}).",
                name=VOCABULARY,
                expected=_SAMPLE_TOKENS,
                counted=counted,
            ),
            fix=_AGAIN,
        )
    return text("{name}: digest verified, known text counted correctly", name=VOCABULARY)


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


_HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")  # how OpenSSL names the certificates of a folder
_RG_S = 20.0
_STORE_BYTES = 100_000
PROBE = "helix-desktop-self-check"
"""The provider under whose name the key is stored: no real one."""


async def store() -> str:
    """Check a round trip through a real LevelDB that is closed and opened again in between."""
    from helix_desktop.domain.digest import digest_of
    from helix_desktop.domain.store import Commit, Content
    from helix_desktop.store.leveldb_store import LevelDbStore

    data = os.urandom(_STORE_BYTES)
    workspace_id = "00000000-0000-4000-8000-000000000000"
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            database = await LevelDbStore.open(Path(folder) / "store", workspace_id)
            await database.commit(Commit("self-check", contents=[Content(digest_of(data), data)]))
            read_back = await database.get(digest_of(data))
            await database.close()
            if read_back != data:
                raise HelixError(text("LevelDB returned different bytes than were written."))
    return text("{count} bytes written, closed, read back and verified", count=_STORE_BYTES)


async def search() -> str:
    """Check that ripgrep runs and SQLite finds parts of words."""
    from helix_desktop.tools.process import find_ripgrep

    program = find_ripgrep()
    if program is None:
        raise HelixError(text("ripgrep is missing."), fix=_AGAIN)
    child = await asyncio.create_subprocess_exec(
        *(program, "--version"), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(_RG_S):
        output, _ = await child.communicate()
    if child.returncode or not output.startswith(b"ripgrep "):
        raise HelixError(
            text("{program} doesn't run.", program=program),
            text("It exited with code {code}.", code=str(child.returncode)),
            _AGAIN,
        )
    await asyncio.to_thread(_check_text_index)
    version = output.decode().splitlines()[0]
    return text("{version} in {program}; SQLite with trigrams", version=version, program=program)


def _check_text_index() -> None:
    index = sqlite3.connect(":memory:")
    try:
        index.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='trigram')")
        index.execute("INSERT INTO t VALUES ('nothing is ever lost')")
        if index.execute("SELECT count(*) FROM t WHERE t MATCH 'eve'").fetchone() != (1,):
            raise HelixError(text("SQLite's index doesn't find parts of words."))
    finally:
        index.close()


async def sandbox() -> str:
    """Return the sandbox of the agent's commands; having none is no fault of the installation."""
    from helix_desktop.services.tool_service import NO_SANDBOX_ADVICE
    from helix_desktop.tools.shell.sandbox_detect import find_sandbox
    from helix_desktop.tools.shell.sandbox_scope import describe_sandbox

    kind = (await asyncio.to_thread(find_sandbox)).kind
    description = describe_sandbox(kind, network=kind == "none")
    return join_sentences(description, NO_SANDBOX_ADVICE) if kind == "none" else description


_HOME_FAULTS = {
    "unset": text("HOME isn't set."),
    "relative": text("HOME isn't an absolute path."),
    "root": text("HOME is /, which is nobody's own folder."),
    "missing": text("HOME names a folder that isn't there."),
    "no_folder": text("HOME isn't a folder."),
}


async def home() -> str:
    """Return the home folder of the agent's commands, and why it isn't that of `HOME`: no fault of ours."""
    fault = await asyncio.to_thread(home_fault)
    folder = await asyncio.to_thread(find_home)
    if not fault:
        return str(folder)
    if folder == NO_HOME:
        return join_sentences(_HOME_FAULTS[fault], text("Commands get an empty home folder of their own."))
    return join_sentences(_HOME_FAULTS[fault], text("Commands use {folder}.", folder=folder))


async def certificates() -> str:
    """Check that the trust store for TLS has authorities."""
    from helix_desktop.providers.http import certificates as trusted

    if sys.platform == "darwin":
        await asyncio.to_thread(trusted)
        return text("checked by the system")
    count = await asyncio.to_thread(lambda: _count_authorities(trusted()))
    if not count:
        raise HelixError(
            text("No certificate authorities found."),
            text("Without them, no server can be trusted."),
            text("Install {package}.", package="ca-certificates")
            if sys.platform == "linux"
            else text("Repair the system's trust store."),
        )
    return text.plural(count, "%n certificate authority", "%n certificate authorities")


def _count_authorities(context: ssl.SSLContext) -> int:
    """Count the authorities that a context trusts: loaded ones, and those it would load from a folder."""
    # The store is attached when a connection is prepared, not before.
    context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")
    # Truststore's context tells nothing of what it holds.
    openssl_context = vars(context).get("_ctx", context)
    loaded = len(openssl_context.get_ca_certs()) or len(ssl.create_default_context().get_ca_certs())
    folder = ssl.get_default_verify_paths().capath
    hashed_files = [name for name in os.listdir(folder) if _HASHED.fullmatch(name)] if folder else []
    return loaded or len(hashed_files)


def data_folder(data_dir: DataDir) -> Callable[[], Awaitable[str]]:
    """Return the check that a data directory can be created and written."""

    async def check() -> str:
        data_dir.ensure()
        return text("{folder} is writable", folder=data_dir.root)

    return check


async def keys() -> str:
    """Return the keychain's name without writing to it; having none is no fault of the installation."""
    secret_store = SecretStore(os.environ)
    try:
        name = await secret_store.keychain_name()
    finally:
        secret_store.close()
    return name or text(
        "no keychain ({problem}); keys come from the environment or last for one run",
        problem=secret_store.problem,
    )


async def try_keychain(find: Callable[[], Keychain] = system_keychain) -> str:
    """Store, read and delete a key; return where. Raises HelixError if the keychain fails at any of it."""
    value = f"probe-{os.getpid()}-{secrets.token_hex(8)}"
    # Each knows nothing but what is kept when it asks.
    writer, reader, checker = (SecretStore({}, find) for _ in range(3))
    try:
        saved = await writer.set(PROBE, value)
        if saved.source == "run":
            raise HelixError(
                text("The keychain didn't save a key: {problem}.", problem=writer.problem),
                fix=text("Unlock the keychain, or start one."),
            )
        read_back = await reader.get(PROBE)
        await reader.delete(PROBE)
        remaining = await checker.get(PROBE)
    finally:
        for secret_store in (writer, reader, checker):
            secret_store.close()
    if read_back.value != value:
        raise HelixError(text("The keychain returned a different key than was saved."))
    if remaining.value:
        raise HelixError(text("The keychain didn't delete a key."))
    return text("a key was saved, read back and deleted (keychain: {name})", name=saved.name)


PAINT_ONLY = "--paint-only"
_CHILD_TIMEOUT_S = 60.0
_RAN = re.compile(r"^Ran (\d+) tests", re.MULTILINE)
_OUTPUT_CHARS = 400  # characters of what a failing program said
_LAUNCHER_PREFIXES = ("_MEIPASS", "_PYI_", "PYINSTALLER_")
"""Prefixes of variables that a frozen program's launcher sets for itself."""
_HARMLESS_VARIABLES = frozenset(
    {"PATH", "HELIX_DATA_DIR", "PWD", "OLDPWD", "_", "APPDIR", "APPIMAGE", "ARGV0", "OWD"}
)
"""Variables that may contain the program's folder without making other programs load libraries from it."""
_PIPE = asyncio.subprocess.PIPE
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "self-check", "version": "0"},
    },
}


class RenderCheckProcess:
    """The rendering checks, all run by one child process, which the first check starts."""

    def __init__(self, *, in_english: bool = False) -> None:
        self._environ = _english_environ() if in_english else None
        self._results: dict[str, tuple[bool, str]] | None = None
        self._failure = ""

    def checks(self) -> dict[str, Callable[[], Awaitable[str]]]:
        return {name: self._check(name) for name in CHECK_NAMES}

    def _check(self, name: str) -> Callable[[], Awaitable[str]]:
        async def check() -> str:
            if self._results is None:
                await self._run()
            works, finding = (self._results or {}).get(name, (False, self._failure))
            if not works:
                raise HelixError(verbatim(finding))
            return finding

        return check

    async def _run(self) -> None:
        self._results = {}
        child = await asyncio.create_subprocess_exec(
            *app_command("self-check", PAINT_ONLY),
            env=self._environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=_PIPE,
            stderr=_PIPE,
        )
        try:
            output, errors = await _communicate(child, text("The rendering check"))
        except HelixError as error:
            self._failure = error.what
            return
        try:
            self._results = {
                name: (bool(result[0]), str(result[1])) for name, result in json.loads(output).items()
            }
        except ValueError:
            self._failure = join_sentences(text("Qt can't paint."), _end_of(child, errors))


def _english_environ() -> dict[str, str]:
    return {**os.environ, LANGUAGE_VARIABLE: "en"}


def _end_of(child: asyncio.subprocess.Process, errors: bytes) -> str:
    """Return what a failed child wrote to standard error, else its exit code."""
    message = " ".join(errors.decode(errors="replace").split())
    return message or text("It exited with code {code}.", code=str(child.returncode))


async def mcp(*, in_english: bool = False) -> str:
    """Check that the cache server, started as other programs start it, answers the first request."""
    with tempfile.TemporaryDirectory() as temp_dir:
        folder, data = await asyncio.to_thread(_create_workspace, Path(temp_dir))
        child = await asyncio.create_subprocess_exec(
            *app_command("mcp", "--data-dir", str(data), "--workspace", str(folder)),
            env=_english_environ() if in_english else None, stdin=_PIPE, stdout=_PIPE, stderr=_PIPE,
        )  # fmt: skip
        output, errors = await _communicate(
            child, text("The cache server"), json.dumps(_INITIALIZE).encode() + b"\n"
        )
    try:
        answer = json.loads(output.splitlines()[0])["result"]
        return text("the cache server answers with protocol {version}", version=answer["protocolVersion"])
    except (IndexError, ValueError, KeyError, TypeError):
        raise HelixError(text("The cache server doesn't answer."), verbatim(_end_of(child, errors))) from None


async def _communicate(
    child: asyncio.subprocess.Process, label: str, stdin_data: bytes = b""
) -> tuple[bytes, bytes]:
    """Return both outputs of a child when it has ended. Raises HelixError if it does not end."""
    try:
        async with asyncio.timeout(_CHILD_TIMEOUT_S):
            return await child.communicate(stdin_data or None)
    except TimeoutError:
        child.kill()
        await child.wait()
        raise HelixError(
            text(
                "{program} didn't end within {seconds} seconds.",
                program=label,
                seconds=round(_CHILD_TIMEOUT_S),
            )
        ) from None


def _create_workspace(place: Path) -> tuple[Path, Path]:
    """Create a workspace and a data directory that lists it; return both folders."""
    from helix_desktop.workspaces.registry import WorkspaceRegistry

    folder = place / "workspace"
    data = place / "data"
    folder.mkdir()
    WorkspaceRegistry(data / "workspaces", wall_clock_ms).add(folder)
    return folder, data


async def sample() -> str:
    """Check that a sample project's tests run on the Python that its commands find."""
    with tempfile.TemporaryDirectory() as temp_dir:
        folder = Path(temp_dir, "tidewatch")
        await asyncio.to_thread(shutil.copytree, resources_dir() / "demo" / "tidewatch", folder)
        child = await asyncio.create_subprocess_shell(
            "python3 -m unittest" if os.name != "nt" or is_frozen() else "python -m unittest",
            cwd=folder, env=with_sample_python(os.environ),
            stdin=asyncio.subprocess.DEVNULL, stdout=_PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output = (await _communicate(child, text("The sample's Python")))[0].decode(errors="replace")
    ran = _RAN.search(output)
    if ran is None:
        raise HelixError(
            text("The sample's tests don't run."), verbatim(" ".join(output.split())[-_OUTPUT_CHARS:])
        )
    return text.plural(int(ran[1]), "Python runs the sample's %n test", "Python runs the sample's %n tests")


async def children() -> str:
    """Check that a started program sees the user's own environment, and nothing of ours."""
    command = ("cmd", "/d", "/u", "/c", "set") if os.name == "nt" else ("env", "-0")
    child = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL, stdout=_PIPE)
    output, _ = await child.communicate()
    listing, end = (output.decode("utf-16-le"), "\r\n") if os.name == "nt" else (os.fsdecode(output), "\0")
    variables = dict(line.split("=", 1) for line in listing.split(end) if "=" in line[1:])
    leaked = leaked_variables(variables, bundle_dir())
    if leaked:
        raise HelixError(
            text("Started programs see Helix Desktop's variables: {names}.", names=tuple(leaked))
        )
    return text.plural(len(variables), "%n variable, your own", "%n variables, all your own")


def bundle_dir() -> Path | None:
    """Return the folder of a built app; None in a checkout or a Python environment: nothing can leak."""
    frozen = getattr(sys, "_MEIPASS", None)
    if frozen:
        return Path(frozen)
    return resources_dir().parent if current_build().target else None


def leaked_variables(environ: Mapping[str, str], bundle_folder: Path | None) -> list[str]:
    """Return the variables that our launcher has set, or that contain the app's folder."""
    return sorted(
        name
        for name, value in environ.items()
        if name.startswith(_LAUNCHER_PREFIXES)
        or (bundle_folder and name not in _HARMLESS_VARIABLES and str(bundle_folder) in value)
    )


_WIDTH = 14  # characters of the column of names
Check = Callable[[], Awaitable[str]]


class CheckResult(msgspec.Struct, frozen=True):
    name: str
    ok: bool
    text: str


def self_check(args: argparse.Namespace) -> int:
    """Print one line per part, or all as JSON; return 0 if all of them work, else 1."""
    if args.paint_only:
        return run_render_checks()
    data = DataDir.locate(getattr(args, "data_dir", None), os.environ)
    if args.with_names and args.bundle is None:
        raise InvalidInput(
            text("{option} goes with {bundle} only.", option="--with-names", bundle="--bundle"),
            fix=text("Add {bundle}, or leave {option} out.", option="--with-names", bundle="--bundle"),
        )
    if args.bundle is not None and args.bundle.exists():
        raise InvalidInput(
            text("{file} already exists.", file=args.bundle), fix=text("Choose another name for the bundle.")
        )
    in_english = args.json or args.bundle is not None
    results = asyncio.run(_run_checks(_checks(data, args.keyring, in_english=in_english), quiet=args.json))
    failed = sum(not result.ok for result in results)
    report = json.dumps(_report(results), indent=1, ensure_ascii=False) + "\n"
    if args.bundle is not None:
        asyncio.run(_save_bundle(data, report, args.bundle, with_names=args.with_names))
    if args.json:
        sys.stdout.write(report)
    else:
        sys.stdout.write(f"{_summary(failed, len(results))}\n")
        if args.bundle is not None:
            sys.stdout.write(tr("Saved {file}. Read it before you share it.", file=args.bundle) + "\n")
    return 1 if failed else 0


def _report(results: list[CheckResult]) -> dict[str, Any]:
    return {
        "ok": all(result.ok for result in results),
        "build": msgspec.to_builtins(_build_or_empty()),
        "checks": msgspec.to_builtins(results, enc_hook=plain_text),
    }


async def _save_bundle(data_dir: DataDir, report: str, path: Path, *, with_names: bool) -> None:
    # Only here: they take longer to import than most checks take, and the child that paints imports this too.
    from PySide6 import __version__ as qt_version

    from helix_desktop.services.app_services import AppServices
    from helix_desktop.services.diagnostics import Diagnostics, write_bundle

    services = AppServices(data_dir, os.environ)
    try:
        diagnostics = Diagnostics(services, find_home(), (("Qt", qt_version),))
        files = [
            await diagnostics.self_check_file(report, with_names=with_names),
            *await diagnostics.collect(with_names=with_names),
        ]
        await asyncio.to_thread(write_bundle, path, files)
    finally:
        await services.close()


def _summary(failed: int, checks: int) -> str:
    if not failed:
        return tr("all checks passed")
    return tr.plural(failed, "%n of {checks} checks failed", "%n of {checks} checks failed", checks=checks)


def _checks(data_dir: DataDir, keyring: bool, *, in_english: bool = False) -> dict[str, Check]:
    """Return the checks in the order in which they are reported."""
    return {
        "versions": versions,
        "resources": resources,
        **RenderCheckProcess(in_english=in_english).checks(),
        "prompts": prompts,
        "demo": demo,
        "sample": sample,
        "tokens": tokens,
        "licenses": licenses,
        "store": store,
        "search": search,
        "sandbox": sandbox,
        "home": home,
        "certificates": certificates,
        "mcp": partial(mcp, in_english=in_english),
        "children": children,
        "data": data_folder(data_dir),
        "keys": try_keychain if keyring else keys,
    }


async def _run_checks(checks: dict[str, Check], quiet: bool) -> list[CheckResult]:
    results = []
    for name, check in checks.items():
        try:
            result = CheckResult(name, True, await check())
        except HelixError as error:
            result = CheckResult(name, False, join_sentences(error.what, error.why, error.fix))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a part has to be named
            result = CheckResult(name, False, f"{type(error).__name__}: {error}")
        results.append(result)
        if not quiet:
            mark = "ok" if result.ok else "FAIL"
            finding = " ".join(translate(result.text).split())
            sys.stdout.write(f"{mark:<5} {name:<{_WIDTH}} {finding}\n")
    return results


def _build_or_empty() -> Build:
    try:
        return current_build()
    except HelixError:  # the check of versions names it
        return Build()
