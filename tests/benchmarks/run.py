"""Runs every tests/benchmarks/bench_*.py in its own process and prints one table of their figures.

Each has `main() -> list[tuple[str, float, str]]`: name of the figure, figure, unit or meaning; or
`main() -> str`: its own tables, which follow the common one. Names as arguments select benchmarks:
`run.py chat store`. With `--trajectories DIR` the sessions recorded there are replayed; nothing else is
measured unless it is named. With options behind the folder, they are replayed under one policy alone:
`run.py --trajectories DIR --help`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TIME_LIMIT_S = 1_800
REPLAY_LIMIT_S = 7_200  # recordings can be many

Figure = tuple[str, float, str]


def main(arguments: Sequence[str]) -> int:
    """Measure and print; return 1 if any benchmark failed."""
    if arguments[:1] == ["--one"]:
        return _run_benchmark(Path(arguments[1]), Path(arguments[2]))
    folder, names = _parted(arguments)
    if folder is not None and not os.path.isdir(folder):
        sys.stderr.write(f"There is no folder {folder!r}. Give one that holds recorded sessions.\n")
        return 2
    if folder is not None and names[0].startswith("-"):
        command = [sys.executable, "-m", "tests.benchmarks.replay.run", folder, *names]
        return subprocess.call(command, env=os.environ | {"PYTHONPATH": str(ROOT)})
    benchmarks = [path for path in sorted(HERE.glob("bench_*.py")) if not names or path.stem[6:] in names]
    failed = []
    rows: list[tuple[str, str, str, str]] = []
    tables: list[str] = []
    for path in benchmarks:
        sys.stderr.write(f"measuring {path.stem[6:]} ...\n")
        figures = _measure(path, folder)
        if figures is None:
            failed.append(path.name)
        elif isinstance(figures, str):
            tables.append(figures)
        else:
            rows += [(path.stem[6:], name, f"{figure:,.3g}", unit) for name, figure, unit in figures]
    sys.stdout.write("\n".join([_table(rows), *tables] if rows or not tables else tables))
    if failed:
        sys.stdout.write(f"failed: {', '.join(failed)}\n")
    return 1 if failed or not benchmarks else 0


def _parted(arguments: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the folder of recordings, if there is one, and the names of benchmarks."""
    if arguments[:1] != ["--trajectories"]:
        return None, arguments
    folder, *names = arguments[1:] or [""]
    return folder, names or ["replay"]


def _measure(path: Path, recordings: str | None) -> list[Figure] | str | None:
    """Run one benchmark alone: no import, cache or crash of another one touches its figures."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "figures.json")
        environ = os.environ | {"PYTHONPATH": str(ROOT), "HELIX_DATA_DIR": str(Path(folder, "data"))}
        environ["TRAJECTORIES"] = os.path.abspath(recordings) if recordings else ""
        line = [sys.executable, str(HERE / "run.py"), "--one", str(path), str(answer)]
        limit = REPLAY_LIMIT_S if recordings else TIME_LIMIT_S
        try:
            # Its own output goes to standard error, not into the table.
            subprocess.run(line, env=environ, cwd=ROOT, stdout=sys.stderr, timeout=limit, check=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            sys.stderr.write(f"{path.name}: {error}\n")
            return None
        figures = json.loads(answer.read_text(encoding="utf-8"))
        if isinstance(figures, str):
            return figures
        return [(name, figure, unit) for name, figure, unit in figures]


def _run_benchmark(path: Path, answer: Path) -> int:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    answer.write_text(json.dumps(module.main()), encoding="utf-8")
    return 0


def _table(rows: Sequence[tuple[str, str, str, str]]) -> str:
    if not rows:
        return "no figures\n"
    head = ("benchmark", "what", "figure", "unit")
    what, name, figure = (max(len(row[column]) for row in (head, *rows)) for column in range(3))
    lines = [f"{row[0]:<{what}}  {row[1]:<{name}}  {row[2]:>{figure}}  {row[3]}" for row in (head, *rows)]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
