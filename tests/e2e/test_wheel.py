"""The wheel works far from the checkout: it carries the resources once, and its command checks itself."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections import Counter
from pathlib import Path

import pytest

pytestmark = [pytest.mark.package, pytest.mark.timeout(1_200)]

ROOT = Path(__file__).resolve().parents[2]


def succeed(*command: str | Path, cwd: Path, **environ: str) -> str:
    """Run a command and return its output; fail the test with both its streams."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "PIP_"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean | environ,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]} gave {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / "README.md").exists():
        pytest.skip("the wheel's description is README.md, which is not there")
    out = tmp_path_factory.mktemp("wheel")
    succeed(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bin folder of an environment with the wheel and this environment's libraries."""
    folder = tmp_path_factory.mktemp("elsewhere")
    succeed(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
    (packages,) = (folder / "env" / "lib").glob("python3.*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    python = folder / "env" / "bin" / "python"
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-compile",  # what is used compiles itself
        "--disable-pip-version-check",
    )
    succeed(*pip, "--no-deps", "--no-index", wheel, cwd=folder)
    return python.parent


def test_the_wheel_contains_each_resource_once(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    listed = subprocess.run(
        ["git", "ls-files", "resources"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {f"helix_desktop/{name}" for name in listed} <= set(names)
    assert not [name for name in names if name.startswith(("resources/", "tests/", "packaging/"))]
    fonts = Counter(Path(name).name for name in names if name.endswith((".ttf", ".tiktoken")))
    assert set(fonts) == {Path(name).name for name in listed if name.endswith((".ttf", ".tiktoken"))}
    assert set(fonts.values()) == {1}


def test_the_installed_package_finds_its_resources(installed: Path, tmp_path: Path) -> None:
    ask = "from helix_desktop.config.paths import resources_dir; print(resources_dir())"
    resources = Path(succeed(installed / "python", "-c", ask, cwd=tmp_path).strip())
    assert resources.is_relative_to(installed.parent)
    assert resources.parent.name == "helix_desktop"


def test_the_installed_command_checks_itself(installed: Path, tmp_path: Path) -> None:
    output = succeed(
        installed / "helix-desktop",
        "self-check",
        cwd=tmp_path,
        HELIX_DATA_DIR=str(tmp_path / "data"),
        QT_QPA_PLATFORM="offscreen",
    )
    assert output.endswith("all checks passed\n")
