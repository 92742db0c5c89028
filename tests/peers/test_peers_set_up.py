"""The set-up of the peers: a failed installation costs its own tests and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from peers import LOCK, NODE, Peers

ROOT = Path(__file__).resolve().parents[2]
UNKNOWN = f"nothing-of-that-name==1.0 \\\n    --hash=sha256:{'0' * 64}\n    # via nobody\n"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Peers:
    """One checkout for all tests here: its environment takes seconds to create."""
    root = tmp_path_factory.mktemp("checkout")
    (root / NODE).mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / NODE / name, root / NODE)
    return Peers(root)


@pytest.fixture
def offline(checkout: Peers, monkeypatch: pytest.MonkeyPatch) -> Peers:
    """The peers of a checkout on a machine that reaches no registry and has no npm."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    (checkout.root / LOCK).write_text(UNKNOWN, encoding="utf-8")
    return checkout


def test_a_failed_installation_is_reported_and_retried(
    offline: Peers, capfd: pytest.CaptureFixture[str]
) -> None:
    """No failure: one line for each that is missing. The next run tries again."""
    for _ in range(2):
        offline.ensure()
        error_output = capfd.readouterr().err
        assert "helix: nothing-of-that-name==1.0 not installed: their tests are skipped\n" in error_output
        assert "helix: npm is missing: the tests against Node peers are skipped\n" in error_output
    assert offline.python.exists()


def test_an_installed_package_is_not_installed_again(
    offline: Peers, capfd: pytest.CaptureFixture[str]
) -> None:
    """An empty lock is installed at once, and only once; a changed one again."""
    for lock, again in (("# nothing\n", True), ("# nothing\n", False), ("# still nothing\n", True)):
        (offline.root / LOCK).write_text(lock, encoding="utf-8")
        offline.ensure()
        assert (f"installing the peers from {LOCK}" in capfd.readouterr().err) == again
