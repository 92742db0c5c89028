"""The rules that no linter knows, and the size of the code: the last part of `./helix check`.

What breaks a rule fails; sizes fail nobody. Each file is read and parsed once, for all of them.
"""

from __future__ import annotations

import ast
import gc
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from source_files import SourceFile, read_sources, tracked_files
from texts.build import catalog_problems, text_problems
from texts.extract import Entry, Problem, extract

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = "helix_desktop/"
PURE = ("helix_desktop/context/", "helix_desktop/domain/", "helix_desktop/permissions/")
OF_THE_INTERFACE = "tests/ui/"

# Written in pieces, so that this file is not its own finding.
REGISTRIES = "|".join(["pypi" + r"\.org", "python" + "hosted", "npm" + r"js\.(?:org|com)", "/simp" + "le/"])
MACHINE = r"(?<![\w.~])/(?:ro" + r"ot|wo" + r"rk|opt/whe" + r"els|opt/py" + r"pi|tmp/bri" + r"ef)\b/?[\w.]"
LEFTOVERS = "|".join(
    ["# TO" + r"DO\b(?! Items)", "TO" + "DO:", "FIX" + "ME", "lorem ip" + "sum", "Magic" + "Mock"]
)
MAKING = "|".join(
    ["co-auth" + "ored-by", "generated wi" + "th", "as an a" + "i ", "my bri" + "ef", "HOU" + "SE.md"]
)
_TEXT_RULES = [
    (re.compile(REGISTRIES), "name what is needed, never the address it was fetched from"),
    (re.compile(MACHINE), "a path of one machine"),
    (re.compile(LEFTOVERS), "no notes to oneself, no filler text"),
    (re.compile(MAKING, re.IGNORECASE), "no text about how the project was made"),
]

_CLOCK_AND_FILES = {"open", "input", "print", ".now", ".utcnow", ".today", ".uuid4"}
_NESTED_LOOPS = {".exec", ".exec_", ".processEvents"}
_OWN_LOOPS = {
    # The application's own loop, before there is any other: it runs until the first frame.
    "helix_desktop/app/main.py",
    # A message box after a start that failed: nothing else runs any more.
    "helix_desktop/app/plain_startup_error.py",
    # What Qt has ready after a loop's last round, run with that loop as the running one.
    "helix_desktop/app/qt_loop.py",
    # A drag's own loop, which Qt starts in the same way in each item view.
    "helix_desktop/ui/design/drops.py",
}

_OWN_THREADS = {".Thread", ".run_in_executor", "QThread", "QRunnable", "ThreadPoolExecutor"}
_PAINTERS = {
    # Called while Qt paints, also where no asyncio loop runs; leaving the app waits for none of them.
    "helix_desktop/ui/design/highlight.py",
    "helix_desktop/ui/chat/markdown/formulas.py",
}

_EXCEPTION = re.compile(r"#\s*(?:ruff:\s*|flake8:\s*)?noqa|#\s*type:\s*ignore|#\s*mypy:")
_REASON = re.compile(r"# (?:noqa: [A-Z]+\d+(?:, [A-Z]+\d+)*|type: ignore\[[\w, -]+\])(?: -|  #) \w.{7,}")

_CONTEXTS = {"Translator", "TextContext", ".getLogger"}
_DEFINES_CONTEXTS = "helix_desktop/domain/translatable_text.py"

_SELECTORS = {"press", "click", "button", "find_button", "find_buttons", "trigger"}
_BUTTONS = {"QPushButton", "QToolButton", "QAbstractButton", "PushButton", "IconButton"}
_LABELS = {"text", "accessibleName"}

_LONGEST_SHOWN = 5


def main() -> int:
    """Check every rule and print the table of sizes; return 1 if a rule is broken."""
    gc.disable()  # a tree has no cycles, and looking for some takes as long as all rules
    problems: list[Problem] = []
    entries: list[Entry] = []
    sizes: dict[str, Counter[str]] = {}
    functions: list[tuple[int, str]] = []
    paths = tracked_files(ROOT)
    for file in read_sources(ROOT, (path for path in paths if path.suffix == ".py")):
        problems += syntax_problems(file)
        found, wrong = extract([file]) if file.name.startswith(PRODUCT) else ([], [])
        entries += found
        problems += wrong + text_problems(file)
        sizes.setdefault(_package(file.name), Counter()).update(_size(file))
        functions = sorted(functions + _function_lengths(file), reverse=True)[:_LONGEST_SHOWN]
    for path in paths:
        problems += content_problems(path.relative_to(ROOT), _text_of(path))
    problems += catalog_problems(ROOT, entries)
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    sys.stdout.write("".join(f"{row}\n" for row in size_table(sizes)))
    sys.stdout.write("longest functions, in lines:\n")
    sys.stdout.write("".join(f"  {lines:,}  {name}\n" for lines, name in functions))
    return 1 if problems else 0


def syntax_problems(file: SourceFile) -> list[Problem]:
    """Return what breaks a rule that the syntax tree or a line of a Python file shows."""
    problems = [
        Problem(file.name, number, "an exception from a rule gives its code and a reason on its line")
        for number, line in enumerate(file.text.splitlines(), 1)
        if _EXCEPTION.search(line) and not _REASON.search(line) and "house_rules" not in file.name
    ]
    problems += [Problem(file.name, line, why) for line, why in _dense_conditionals(file)]
    why = "one assignment a line, but for a swap or a step whose later value reads an earlier target"
    problems += [Problem(file.name, line, why) for line in _packed_assignments(file)]
    if file.name.startswith(PRODUCT) and file.name not in _OWN_LOOPS:
        problems += _calls(file, _NESTED_LOOPS, "a nested event loop hangs every task, and re-enters slots")
    if file.name.startswith("helix_desktop/ui/"):
        problems += _calls(file, {".itemAt"}, "a layout's item stays in Python when Qt has deleted it")
    if file.name.startswith("helix_desktop/ui/") and file.name not in _PAINTERS:
        problems += _calls(file, _OWN_THREADS, "the window leaves its thread by asyncio.to_thread alone")
    if file.name.startswith(PRODUCT) and file.name != _DEFINES_CONTEXTS:
        why = "a module's translator, texts and log are made once, above its classes and functions"
        problems += [Problem(file.name, line, why) for line in _late_contexts(file)]
    if file.name.startswith(PURE):
        problems += _calls(file, _CLOCK_AND_FILES, "the pure core reads no clock and no file")
    if file.name.startswith(OF_THE_INTERFACE):
        problems += [
            Problem(file.name, line, "select by object name (tests/support/window/buttons.py)")
            for line in _selections_by_label(file)
        ]
    return problems


def _calls(file: SourceFile, names: set[str], why: str) -> list[Problem]:
    return [
        Problem(file.name, node.lineno, why)
        for node in file.nodes
        if isinstance(node, ast.Call) and _called(node) in names
    ]


def _dense_conditionals(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield the lines of conditional expressions that hold another one, or are called or read from."""
    for node in file.nodes:
        match node:
            case ast.IfExp() if sum(isinstance(part, ast.IfExp) for part in ast.walk(node)) > 1:
                yield node.lineno, "no conditional expression in another: write statements, or name a part"
            case ast.Call(func=ast.IfExp()) | ast.Attribute(value=ast.IfExp()):
                yield node.lineno, "name what a conditional expression chooses, then call it or read from it"


def _packed_assignments(file: SourceFile) -> Iterator[int]:
    """Yield the lines that assign several values to several targets at once without need."""
    for node in file.nodes:
        match node:
            case ast.Assign(targets=targets, value=ast.Tuple(elts=values) | ast.List(elts=values)):
                for target in targets:
                    if isinstance(target, ast.Tuple | ast.List) and not _reads_earlier(target.elts, values):
                        yield node.lineno


def _reads_earlier(targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> bool:
    """Return True if a value reads a target that stands before its own."""
    names = [ast.unparse(target) for target in targets]
    for number, value in enumerate(values):
        read = {ast.unparse(node) for node in ast.walk(value) if isinstance(node, ast.expr)}
        if read.intersection(names[:number]):
            return True
    return False


def _late_contexts(file: SourceFile) -> Iterator[int]:
    """Yield the lines that make what a module's texts or log come from too late, or a second time."""
    made = set[str]()
    is_below = False
    for node in file.tree.body:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                is_below = True
            case ast.Assign(value=ast.Call() as call) if _called(call) in _CONTEXTS:
                if is_below or ast.unparse(call) in made:
                    yield node.lineno
                made.add(ast.unparse(call))


def _called(call: ast.Call) -> str:
    """Return the name that is called, with a dot before it when it is an attribute."""
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return f".{name}"
    return ""


def _selections_by_label(file: SourceFile) -> Iterator[int]:
    """Yield the lines that select a button or a menu entry by its label."""
    for node in file.nodes:
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in _SELECTORS:
                words = (argument.value for argument in args if isinstance(argument, ast.Constant))
                if any(isinstance(word, str) and _is_label(word) for word in words):
                    yield node.lineno
            case ast.comprehension(iter=buttons, ifs=[*conditions]) if _lists_buttons(buttons):
                if any(_compares_label(condition) for condition in conditions):
                    yield buttons.lineno


def _is_label(words: str) -> bool:
    """Return True if a text looks like a label on screen, and not like a name."""
    return words[:1].isupper() or "…" in words or " " in words


def _lists_buttons(iterated: ast.expr) -> bool:
    match iterated:
        case ast.Call(func=ast.Attribute(attr="findChildren"), args=[ast.Name(id=kind)]):
            return kind in _BUTTONS
        case ast.Call(func=ast.Attribute(attr="actions")):
            return True
    return False


def _compares_label(condition: ast.expr) -> bool:
    return any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _LABELS
        for compared in ast.walk(condition)
        if isinstance(compared, ast.Compare)
        for call in ast.walk(compared)
    )


def content_problems(path: Path, text: str) -> list[Problem]:
    """Return the places where any text file of the project names what must not be in it."""
    return [
        Problem(path.as_posix(), text.count("\n", 0, hit.start()) + 1, f"{hit.group()!r}: {why}")
        for pattern, why in _TEXT_RULES
        for hit in pattern.finditer(text)
    ]


def _text_of(path: Path) -> str:
    """Return a file's text; nothing of licenses, which are others', and of binary files."""
    if path.parent.name == "licenses" or path.suffix in {".tiktoken", ".ttf", ".png"}:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def _package(name: str) -> str:
    """Return the row of the table that a file counts in."""
    top, *rest = name.split("/")
    return rest[0] if top == "helix_desktop" and rest[1:] else top


def _size(file: SourceFile) -> Counter[str]:
    """Return counts of a file; its nodes are those of the syntax tree without imports and docstrings."""
    left_out = sum(len(list(ast.walk(node))) for node in file.nodes if _is_import_or_docstring(node))
    conditionals = sum(isinstance(node, ast.IfExp) for node in file.nodes)
    return Counter(
        files=1,
        lines=file.text.count("\n"),
        nodes=len(file.nodes) - left_out,
        conditionals=conditionals,
    )


def _is_import_or_docstring(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def _function_lengths(file: SourceFile) -> list[tuple[int, str]]:
    """Return the functions of a product file, each with its lines."""
    if not file.name.startswith(PRODUCT):
        return []
    functions = (node for node in file.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [
        ((node.end_lineno or node.lineno) - node.lineno + 1, f"{file.name}:{node.lineno} {node.name}")
        for node in functions
    ]


def size_table(sizes: dict[str, Counter[str]]) -> Sequence[str]:
    """Return the rows of files, lines, nodes and conditional expressions by package, with sums."""
    others = {"tests", "packaging", "resources", "ui"}
    sums = dict(sizes)
    sums["outside ui"] = sum((size for name, size in sizes.items() if name not in others), Counter())
    order = sorted(sizes.keys() - others, key=lambda name: -sizes[name]["lines"])
    rows = [f"{'package':<14}{'files':>7}{'lines':>10}{'nodes':>12}{'nodes/line':>12}{'x if y/1,000':>14}"]
    for name in ("ui", "outside ui", *order, "packaging", "resources", "tests"):
        size = sums.get(name, Counter())
        lines = max(1, size["lines"])
        label = name if name in others or name == "outside ui" else f"  {name}"
        counts = f"{size['files']:>7,}{size['lines']:>10,}{size['nodes']:>12,}"
        density = f"{size['nodes'] / lines:>12.1f}{size['conditionals'] * 1_000 / lines:>14.1f}"
        rows.append(f"{label:<14}{counts}{density}")
    return rows


if __name__ == "__main__":
    sys.exit(main())
