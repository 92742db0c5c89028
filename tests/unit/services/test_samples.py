"""The sample projects and their Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helix_desktop.config.paths import resources_dir
from helix_desktop.services.samples import copy_project, with_sample_python

ROOT = Path(__file__).resolve().parents[3]


def _python(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "helix_desktop", "sample-python", *args]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text("import sys\nprint(__name__, sys.argv)\n", encoding="utf-8")
    return tmp_path


def test_modules_code_and_files_run_as_in_python(project: Path) -> None:
    assert _python("-m", "mine", "-v", cwd=project).stdout.startswith("__main__ ['")
    assert _python("-c", "import mine, sys; print(sys.argv)", "-x", cwd=project).stdout == (
        "mine ['-c', '-x']\n['-c', '-x']\n"
    )
    assert _python("mine.py", "a b", cwd=project).stdout == "__main__ ['mine.py', 'a b']\n"


def test_failures_are_those_of_python(project: Path) -> None:
    raised = _python("-c", "raise ValueError('no water')", cwd=project)
    assert raised.returncode == 1
    assert raised.stderr.splitlines()[-1] == "ValueError: no water"
    assert _python("-c", "raise SystemExit(7)", cwd=project).returncode == 7
    unknown = _python("--nonsense", cwd=project)
    assert unknown.returncode == 2
    assert "give -m MODULE" in unknown.stderr


def test_in_a_checkout_the_system_s_python_comes_first() -> None:
    assert with_sample_python({"PATH": "/first"})["PATH"].split(os.pathsep) == [
        "/first",
        str(Path(sys.executable).parent),
    ]


def test_a_built_app_provides_its_own_before_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    environment = with_sample_python({"PATH": "/first"})
    assert environment["PATH"].split(os.pathsep) == [str(resources_dir() / "demo" / "bin"), "/first"]
    assert environment["SAMPLE_PROGRAM"] == sys.executable


@pytest.mark.skipif(os.name == "nt", reason="the other program, python3.cmd, is meant there")
def test_the_program_passes_all_arguments_on(tmp_path: Path) -> None:
    app = tmp_path / "an app"
    app.write_text('#!/bin/sh\nprintf "%s|" "$@"\n', encoding="utf-8")
    app.chmod(0o755)
    program = resources_dir() / "demo" / "bin" / "python3"
    done = subprocess.run(
        [program, "-c", "print('a  b')"], env={"SAMPLE_PROGRAM": str(app), "PATH": os.defpath},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "sample-python|-c|print('a  b')|"


def test_a_copy_has_nothing_that_tools_left_in_the_original(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name in ("src/code.py", "src/__pycache__/code.pyc", ".ruff_cache/0.1/x", ".gitignore"):
        file = source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    copy_project(source, tmp_path / "copy")
    copied = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*")}
    assert copied == {"src", str(Path("src", "code.py")), ".gitignore"}
