"""The project's own rules: each is seen to fail on a planted fault, and documents and locks are true."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from environment import read_lock
from house_rules import content_problems, size_table, syntax_problems
from source_files import SourceFile, tracked_files
from texts.build import text_problems

from tests.support.tables import for_each

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ROOT / "helix_desktop"


@for_each(
    ("place", "fault"),
    [
        ("helix_desktop/ui/shell/window.py", "dialog.exec()"),
        ("helix_desktop/ui/shell/window.py", "QApplication.processEvents()"),
        ("helix_desktop/ui/shell/window.py", "thread = threading.Thread(target=read)"),
        ("helix_desktop/ui/shell/window.py", "await loop.run_in_executor(None, read)"),
        ("helix_desktop/ui/shell/window.py", "part = layout.itemAt(0).widget()"),
        ("helix_desktop/context/policy_numbers.py", "file = open(path)"),
        ("helix_desktop/domain/digest.py", "today = datetime.now()"),
        ("helix_desktop/domain/digest.py", "key = uuid.uuid4()"),
        ("tests/ui/shell/test_window.py", 'press(dialog, "Save")'),
        (
            "tests/ui/shell/test_window.py",
            'next(each for each in root.findChildren(QPushButton) if each.text() == "Save")',
        ),
        ("tests/ui/shell/test_window.py", "next(each for each in menu.actions() if each.text() == text)"),
        ("helix_desktop/store/open.py", 'kind = "file" if is_file else "folder" if is_folder else "other"'),
        ("packaging/package.py", "sizes = [1 if is_small else 2 for is_small in kinds] if kinds else []"),
        ("tests/unit/test_any.py", "(store.pin if is_pinned else store.unpin)(seq)"),
        ("resources/models.py", "(opened if is_open else closed).add(seq)"),
        ("helix_desktop/store/open.py", "value = read()  # type: ignore"),
        ("helix_desktop/store/open.py", "value = read()  # type: ignore[arg-type]"),
        ("tests/unit/test_any.py", "value = read()  # noqa"),
        ("tests/unit/test_any.py", "# ruff: noqa: E501"),
    ],
)
def test_a_planted_fault_is_found(place: str, fault: str) -> None:
    """On its line, and only there."""
    assert [
        (found.path, found.line) for found in syntax_problems(SourceFile(place, f"x = 1\n{fault}\n"))
    ] == [(place, 2)]


@pytest.mark.parametrize("before", ["def read(): ...", "class Reader: ...", 'other = TextContext("Store")'])
def test_texts_of_a_module_come_once_and_above_all_else(before: str) -> None:
    code = f'{before}\ntext = TextContext("Store")\n'
    found = syntax_problems(SourceFile("helix_desktop/store/open.py", code))
    assert [problem.line for problem in found] == [2]


@for_each(
    ("place", "code"),
    [
        ("helix_desktop/app/main.py", "application.exec()"),
        ("helix_desktop/ui/shell/window.py", "dialog.open()"),
        ("helix_desktop/store/open.py", "file = open(path)"),
        ("helix_desktop/store/open.py", "width = widths[0 if is_first else 1] + (2 if is_open else 3)"),
        ("helix_desktop/ui/shell/window.py", "data = await asyncio.to_thread(read)"),
        ("helix_desktop/store/open.py", "thread = threading.Thread(target=read)"),
        ("tests/ui/shell/test_window.py", 'press(dialog, "save_provider")'),
        (
            "tests/ui/shell/test_window.py",
            'next(each for each in menu.actions() if each.objectName() == "copy")',
        ),
        ("tests/ui/shell/test_window.py", "[each.text() for each in root.findChildren(QPushButton)]"),
        ("helix_desktop/store/open.py", "value = read()  # type: ignore[arg-type] - the stub is wrong"),
        ("tests/unit/test_any.py", "value = read()  # noqa: TID251 - the only place that may"),
    ],
)
def test_what_the_rules_allow_is_not_found(place: str, code: str) -> None:
    assert not syntax_problems(SourceFile(place, code))


@pytest.mark.parametrize(
    "text",
    [
        "see https://" + "pypi" + ".org/project/x",
        "--index https://host/simp" + "le/",
        "in /wo" + "rk/x",
        "# TO" + "DO later",
        "FIX" + "ME",
        "Co-Auth" + "ored-By: somebody",
    ],
)
def test_what_no_file_may_name_is_found(text: str) -> None:
    """Registries, paths of one machine, notes to oneself, texts about how the project was made."""
    assert [found.line for found in content_problems(Path("README.md"), f"# Title\n{text}\n")] == [2]
    assert not content_problems(Path("README.md"), "# Title\nSections end with TODO Items.\n")


@pytest.mark.parametrize(
    ("place", "count"),
    [("helix_desktop/ui/chat/x.py", 1), ("helix_desktop/domain/x.py", 0), ("tests/x.py", 0)],
)
def test_texts_that_users_read_are_looked_for_where_they_are_made(place: str, count: int) -> None:
    assert len(text_problems(SourceFile(place, 'label = "No matching commands"\n'))) == count


@pytest.mark.parametrize(
    ("code", "is_packed"),
    [
        ("a, b = 1, 2", True),
        ("self.a, self.b = [], {}", True),
        ("[a, b] = [1, 2]", True),
        ("a = b, c = 1, 2", True),
        ("rest, self.waiting = self.waiting, []", True),
        ("low, high = high, low", False),
        ("self.low, self.high = self.middle, self.low + 1", False),
        ("a, b = pair()", False),
        ("pair = 1, 2", False),
    ],
)
def test_several_assignments_in_one_are_found(code: str, is_packed: bool) -> None:
    for place in ("helix_desktop/x.py", "tests/x.py", "packaging/x.py"):
        problems = syntax_problems(SourceFile(place, f"{code}\n"))
        assert any("one assignment a line" in str(found) for found in problems) is is_packed


def test_sizes_are_printed_by_package_and_are_no_limit() -> None:
    sizes = {
        "ui": Counter(files=999, lines=100_000, nodes=600_000, conditionals=5_000),
        "store": Counter(files=7, lines=1_000, nodes=7_000),
        "agent": Counter(files=3, lines=2_000, nodes=9_000, conditionals=30),
        "tests": Counter(files=1, lines=10, nodes=50),
    }
    rows = [row.split() for row in size_table(sizes)]
    assert rows[1] == ["ui", "999", "100,000", "600,000", "6.0", "50.0"]
    assert rows[2] == ["outside", "ui", "10", "3,000", "16,000", "5.3", "10.0"]
    assert [row[0] for row in rows[3:5]] == ["agent", "store"]


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
    text = read_lock(ROOT / lock).replace("\\\n", " ")
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
    """The app runs on what it was tested with, and on what is shipped: its own packages are named once."""
    run = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    _, _, rest = (ROOT / wider).read_text(encoding="utf-8").partition("\n")
    assert read_lock(ROOT / wider) == run + rest
    entry = re.compile(r"^(([a-z0-9-]+)==[\w.]+)", re.MULTILINE)
    names = {name for _, name in entry.findall(run)}
    more = entry.findall(rest)
    assert more
    assert {pin for pin, name in more if name in names} <= {pin for pin, _ in entry.findall(run)}


@for_each(
    "page",
    [
        *(
            "README.md",
            "ARCHITECTURE.md",
            "CHANGELOG.md",
            "tests/benchmarks/README.md",
            "tests/exam/README.md",
        ),
        *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "resources" / "guide").glob("*.md")),
    ],
)
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


def test_the_map_names_every_package_and_what_exists() -> None:
    """ARCHITECTURE fits in 300 lines, and its folders, files and names of code are in the project."""
    paths = {path.relative_to(ROOT) for path in tracked_files(ROOT)}
    folders = {f"/{folder.as_posix()}/" for path in paths for folder in path.parents}
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 300
    assert not [line for line in page.splitlines() if len(line) > 120]
    quoted = set(re.findall(r"`([^`\n]+)`", page))
    named = {name for name in quoted if re.fullmatch(r"[\w.-]+(?:/[\w.-]+)*/", name)}
    assert not {name for name in named if not any(folder.endswith(f"/{name}") for folder in folders)}
    packages = {path.parts[1] for path in paths if path.match("helix_desktop/*/__init__.py")}
    assert packages <= {name.split("/")[0] for name in named}
    files = {name for name in quoted if re.fullmatch(r"[\w./-]+\.(?:py|toml|md)", name)}
    assert not {
        name for name in files if not any(f"/{path.as_posix()}".endswith(f"/{name}") for path in paths)
    }
    modules = (path for path in paths if path.parts[0] == "helix_desktop" and path.suffix == ".py")
    code = "".join((ROOT / path).read_text(encoding="utf-8") for path in modules)
    symbols = {name for name in quoted if re.fullmatch(r"[A-Za-z_]+(?:\.[A-Za-z_]+)?", name)} - files
    assert symbols
    assert not {name for name in symbols for part in name.split(".") if part not in code}


def test_hints_name_modules_that_exist() -> None:
    """Every module that a banned name sends to."""
    files = {str(path.relative_to(ROOT)) for path in tracked_files(ROOT)}
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    hints = " ".join(banned["msg"] for banned in lint["flake8-tidy-imports"]["banned-api"].values())
    modules = {name.replace(".", "/") + ".py" for name in re.findall(r"\b([a-z_]+(?:\.[a-z_]+)+)\b", hints)}
    assert modules
    assert modules <= {file.removeprefix("helix_desktop/") for file in files}
