"""The house rules that no linter knows: sizes, docstrings, reasons, forbidden words and names."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ROOT / "helix_desktop"
FORBIDDEN_NAMES = Path(__file__).with_name("forbidden_names.txt")
BRITISH_SPELLINGS = Path(__file__).with_name("british_spellings.txt")

MAX_FILE_LINES, MAX_FUNCTION_LINES = 500, 60

# Written in pieces, so that this file is not its own finding.
REGISTRIES = "|".join(["pypi" + r"\.org", "python" + "hosted", "npm" + r"js\.(?:org|com)", "/simp" + "le/"])
MACHINE = r"(?<![\w.~])/(?:ro" + r"ot|wo" + r"rk|opt/whe" + r"els|opt/py" + r"pi|tmp/bri" + r"ef)\b/?[\w.]"
LEFTOVERS = "|".join(
    ["# TO" + r"DO\b(?! Items)", "TO" + "DO:", "FIX" + "ME", "lorem ip" + "sum", "Magic" + "Mock"]
)
MAKING = "|".join(
    ["co-auth" + "ored-by", "generated wi" + "th", "as an a" + "i ", "my bri" + "ef", "HOU" + "SE.md"]
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
IMPURE = {"open", "input", "print", ".now", ".utcnow", ".today", ".uuid4"}


@cache
def tracked() -> tuple[Path, ...]:
    """Return the files of the project: tracked by git, or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return tuple(sorted(path for path in paths if path.is_file()))


def sources(*rooms: str) -> list[Path]:
    """Return the Python files of the given top-level folders."""
    return [path for path in tracked() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in rooms]


@dataclass(frozen=True)
class RuleFindings:
    """Where one file breaks a rule that its syntax tree shows."""

    long: tuple[str, ...]
    undocumented_module: tuple[str, ...]
    undocumented: tuple[str, ...]
    nested_loops: tuple[str, ...]
    impure: tuple[str, ...]
    names: tuple[str, ...]
    """Every name that is bound, as `forbidden_names.txt` writes it."""


def findings(path: Path) -> RuleFindings:
    """Look through one file, and let its tree go: a thousand of them slow every garbage collection.

    Calls and names have rules in the product only; elsewhere no expression is looked at.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    nodes = list(ast.walk(tree)) if path.is_relative_to(PRODUCT) else list(_statements(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    functions = [node for node in nodes if isinstance(node, Function)]
    return RuleFindings(
        long=tuple(
            f"{where(path, node)} {node.name}"
            for node in functions
            if (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
        ),
        undocumented_module=() if not tree.body or ast.get_docstring(tree) else (where(path),),
        undocumented=tuple(
            f"{where(path, node)} {node.name}" for node in _public(tree.body) if not ast.get_docstring(node)
        ),
        nested_loops=tuple(
            where(path, node) for node in calls if _called(node) in {".exec", ".exec_", ".processEvents"}
        ),
        impure=tuple(where(path, node) for node in calls if _called(node) in IMPURE),
        names=tuple(bound_names(nodes)),
    )


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all statements of a module, those within others too."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, name, ())


def bound_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names of parameters, variables, attributes, functions and classes, without underscores."""
    for node in nodes:
        match node:
            case ast.arg(arg=name):
                pass
            case ast.Name(id=name, ctx=ast.Store()):
                pass
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                pass
            case ast.Attribute(attr=name, ctx=ast.Store()):
                pass
            case _:
                continue
        yield name.strip("_").lower()


def _called(call: ast.Call) -> str:
    """Return the name that is called, with a dot before it when it is an attribute."""
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return f".{name}"
    return ""


def texts() -> Iterator[tuple[Path, str]]:
    """Yield every tracked text file with its text; licenses and binary files are left out."""
    for path in tracked():
        if path.parent.name == "licenses" or path.suffix in {".tiktoken", ".ttf", ".png"}:
            continue
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def where(path: Path, node: ast.stmt | ast.expr | None = None) -> str:
    """Name a place as an editor can open it."""
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def matches(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> list[str]:
    """List the places in the project's texts where a pattern occurs."""
    regex = re.compile(pattern, flags)
    return [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, hit.start()) + 1}: {hit.group()}"
        for path, text in texts()
        for hit in regex.finditer(text)
    ]


def test_files_are_short() -> None:
    """A file has at most 500 lines."""
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in _all_sources()}
    assert not [f"{where(path)} {size}" for path, size in sizes.items() if size > MAX_FILE_LINES]


def test_what_the_syntax_shows() -> None:
    """One test, because only the parsing of all files takes time; what is broken has the name of its rule."""
    found = {path: findings(path) for path in _all_sources()}
    product = {path: found[path] for path in sources("helix_desktop")}
    broken = {
        f"a function has at most {MAX_FUNCTION_LINES} lines, its docstring included": [
            place for here in found.values() for place in here.long
        ],
        "each module with content starts with a docstring": [
            place for here in found.values() for place in here.undocumented_module
        ],
        "each public function, class and method of the product has a docstring": [
            place for path in sources("helix_desktop", "packaging") for place in found[path].undocumented
        ],
        "a dialog's exec() in a coroutine hangs every other task, and processEvents re-enters slots": [
            place
            for here in product.values()
            for place in here.nested_loops
            # The application's own loop, before there is any other: it runs until the first frame.
            # A drag's own loop, which Qt starts in the same way in each item view.
            # A message box after a start that failed: nothing else runs any more.
            # The loop's own last events of a run, outside of all slots.
            if not place.startswith(
                (
                    "helix_desktop/app/main.py:",
                    "helix_desktop/app/plain_startup_error.py:",
                    "helix_desktop/app/qt_loop.py:",
                    "helix_desktop/ui/design/drops.py:",
                )
            )
        ],
        "context reads no clock and opens no file; these calls need no import": [
            place
            for path, here in product.items()
            for place in here.impure
            if path.is_relative_to(PRODUCT / "context")
        ],
        "name these after what they hold, or bring their numbers down": _wrong_counts(product.values()),
    }
    assert not {rule: places for rule, places in broken.items() if places}


def _wrong_counts(product: Iterable[RuleFindings]) -> list[str]:
    """List the words of forbidden_names.txt that are bound more or less often than it allows."""
    allowed = _allowed_names()
    counts = Counter(name for here in product for name in here.names if name in allowed)
    return [
        f"{name} {counts[name]}, allowed {limit}" for name, limit in allowed.items() if counts[name] != limit
    ]


def _allowed_names() -> dict[str, int]:
    """Return how often each word may still be bound; raise ValueError for a line without a reason."""
    allowed = {}
    for text in FORBIDDEN_NAMES.read_text(encoding="utf-8").splitlines():
        if text and not text.startswith("#"):
            word, count, _reason = text.split(maxsplit=2)
            allowed[word] = int(count)
    return allowed


def test_a_function_of_one_module_is_private() -> None:
    """What no other file names is found faster where it says so; commands and tests are other files."""
    texts = {path: path.read_text(encoding="utf-8") for path in _code()}
    counts = Counter(name for text in texts.values() for name in set(re.findall(r"\w+", text)))
    assert not [
        f"{path.relative_to(ROOT)} {name}"
        for path, text in texts.items()
        if path.is_relative_to(PRODUCT)
        for name in re.findall(r"^(?:async )?def ([a-z]\w*)", text, re.MULTILINE)
        if counts[name] == 1
    ]


def _code() -> list[Path]:
    """Return the files that may name a function."""
    files = [ROOT / name for name in ("pyproject.toml", "Makefile", "helix", "README.md")]
    return [*files, *sources("helix_desktop", "tests", "packaging")]


def british_spellings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line of each British spelling, and the word with what to write instead."""
    for pattern, american in _spellings():
        for hit in pattern.finditer(text):
            yield text.count("\n", 0, hit.start()) + 1, f"{hit.group()}: write {american}"


@cache
def _spellings() -> tuple[tuple[re.Pattern[str], str], ...]:
    lines = BRITISH_SPELLINGS.read_text(encoding="utf-8").splitlines()
    rules = (line.rsplit(" | ", 1) for line in lines if line and not line.startswith("#"))
    return tuple((re.compile(pattern, re.IGNORECASE), american) for pattern, american in rules)


def test_spelling_is_american() -> None:
    """In product and tests; their data files are of others, or stored formats."""
    assert not [
        f"{path.relative_to(ROOT)}:{line} {found}"
        for path in sources("helix_desktop", "tests")
        if path != Path(__file__)
        for line, found in british_spellings(path.read_text(encoding="utf-8"))
    ]


def test_a_british_spelling_is_found_in_any_kind_of_name() -> None:
    """And what a library spells so is not."""
    british = [
        "is_cancelled",
        "raise_if_cancelled()",
        "NEIGHBOUR",
        "Summariser",
        "tokenised",
        "#colour",
        "x.centre",
    ]
    assert [[line for line, _ in british_spellings(f"\n{name}")] for name in british] == [[2]] * len(british)
    american = (
        'is_canceled task.cancelled() CancelledError "notifications/cancelled" "licences" raise precise'
    )
    assert not list(british_spellings(american))


def test_a_forbidden_name_is_found_at_every_binding() -> None:
    """As a parameter, variable, attribute, function or class, with or without underscores around it."""
    code = "def told(wanted, *, given):\n    _kept = [one for one in wanted]\n    self.held_ = 1\n"
    code += "class Heard: ...\n"
    found = set(bound_names(ast.walk(ast.parse(code))))
    assert found == {"told", "wanted", "given", "kept", "one", "held", "heard"}


def test_every_exception_from_a_rule_has_a_reason() -> None:
    """`# noqa: RULE - reason` and `# type: ignore[code] - reason`, on the line, never for a complete file."""
    bare = [
        f"{where(path)}:{number} {line.strip()}"
        for path in _all_sources()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"#\s*(?:ruff:\s*|flake8:\s*)?noqa|#\s*type:\s*ignore|#\s*mypy:", line)
        and not re.search(
            r"# (?:noqa: [A-Z]+\d+(?:, [A-Z]+\d+)*|type: ignore\[[\w, -]+\])(?: -|  #) \w.{7,}", line
        )
    ]
    assert not bare


def test_no_registry_and_no_machine_is_named() -> None:
    """The project names what it needs, never from where one machine fetched it or where it stored it."""
    assert not matches(REGISTRIES)
    assert not matches(MACHINE)


def test_there_are_no_todos() -> None:
    """No notes to oneself, no filler text, no text about how the project was made."""
    assert not matches(LEFTOVERS)
    assert not matches(MAKING, re.IGNORECASE)


def test_every_package_below_the_window_is_free_of_qt() -> None:
    """The contract lists its modules one by one; a new package must not be forgotten there."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    guarded = next(
        set(contract["source_modules"]) for contract in contracts if contract["name"].startswith("Qt:")
    )
    rooms = {f"helix_desktop.{init.parent.name}" for init in PRODUCT.glob("*/__init__.py")}
    assert rooms - guarded == {
        "helix_desktop.app",
        "helix_desktop.demo",
        "helix_desktop.diagnostics",
        "helix_desktop.ui",
    }


@pytest.mark.parametrize(
    "lock",
    [
        "requirements.txt",
        "requirements-dev.txt",
        "packaging/requirements-peers.txt",
        "packaging/requirements-package.txt",
        "packaging/requirements-static.txt",
    ],
)
def test_locks_pin_and_hash_everything(lock: str) -> None:
    """Each entry has one exact version and at least one SHA-256; there are no options and no addresses."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    entries = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert len(entries) > 20
    entry = re.compile(r"[a-z0-9-]+==[\w.]+( ; [^-]+?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*")
    assert not [line for line in entries if not entry.fullmatch(line)]
    assert "://" not in text


def test_the_node_lock_pins_and_hashes_everything() -> None:
    """Each package has one version and a SHA-512; there are no addresses."""
    text = (ROOT / "packaging" / "peers" / "package-lock.json").read_text(encoding="utf-8")
    packages = {path: entry for path, entry in json.loads(text)["packages"].items() if path}
    assert packages
    assert all(
        package["version"] and package["integrity"].startswith("sha512-") for package in packages.values()
    )
    assert "://" not in text


@pytest.mark.parametrize("wider", ["requirements-dev.txt", "packaging/requirements-package.txt"])
def test_locks_agree(wider: str) -> None:
    """The app runs on what it was tested with, and on what is shipped."""
    run, more = (
        set(re.findall(r"^([a-z0-9-]+==[\w.]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("requirements.txt", wider)
    )
    assert run < more


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"])
def test_documented_commands_exist(page: str) -> None:
    """Every `make X` and `./helix X` of a page is a command."""
    text = (ROOT / page).read_text(encoding="utf-8")
    quoted = "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    packages = (ROOT / "packaging" / "package.py").read_text(encoding="utf-8")
    targets |= {
        f"package-{name}" for name in ("all", *re.findall(r'^    "(\w+)": Target', packages, re.MULTILINE))
    }
    source = (ROOT / "packaging" / "commands.py").read_text(encoding="utf-8")
    commands = set(re.findall(r'^    "([\w-]+)": \w+,$', source, re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", quoted)) <= targets
    assert set(re.findall(r"\./helix ([a-z-]+)", quoted)) <= commands


def test_the_map_and_the_hints_name_modules_that_exist() -> None:
    """Every Python file that ARCHITECTURE names, and every module that a banned name sends to."""
    files = {str(path.relative_to(ROOT)) for path in sources("helix_desktop", "tests", "packaging")}
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.py)`", page))
    assert named
    assert not {name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in files)}
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    hints = " ".join(banned["msg"] for banned in lint["flake8-tidy-imports"]["banned-api"].values())
    modules = {name.replace(".", "/") + ".py" for name in re.findall(r"\b([a-z_]+(?:\.[a-z_]+)+)\b", hints)}
    assert modules
    assert modules <= {file.removeprefix("helix_desktop/") for file in files}


def _all_sources() -> list[Path]:
    return sources("helix_desktop", "tests", "packaging")


def _public(body: list[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    """Return the public definitions, methods included; Qt's own camelCase methods are documented by Qt."""
    for node in body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        again = {ast.unparse(mark).rpartition(".")[2] for mark in node.decorator_list}
        if isinstance(node, Function) and (node.name != node.name.lower() or again & {"overload", "setter"}):
            continue
        yield node
        if isinstance(node, ast.ClassDef):
            yield from _public(node.body)
