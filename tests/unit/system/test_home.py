"""The home folder, also where `HOME` names none."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from helix_desktop.system import home as home_module
from helix_desktop.system.home import NO_HOME, HomeFault, find_home, home_fault

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has another variable")


@pytest.mark.parametrize(
    ("home", "fault"),
    [
        ("", "unset"),
        ("/", "root"),
        ("//", "root"),
        ("/usr/..", "root"),
        ("home", "relative"),
        ("~", "relative"),
        ("/nonexistent/home", "missing"),
        ("/dev/null", "no_folder"),
        ("/etc/hostname/x", "missing"),
    ],
)
def test_a_home_that_is_none_is_replaced_by_that_of_the_account(home: str, fault: HomeFault) -> None:
    assert home_fault({"HOME": home}) == fault
    assert find_home({"HOME": home}) == Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert home_fault({}) == "unset"


def test_a_home_is_what_the_variable_says_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    assert find_home({"HOME": str(tmp_path / "link")}) == tmp_path / "link"
    assert home_fault({"HOME": str(tmp_path)}) == ""
    assert home_fault({"HOME": str(tmp_path / "file")}) == "no_folder"


def test_a_user_without_any_home_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_module, "_account_home", lambda: "/nonexistent")
    assert find_home({"HOME": "/"}) == NO_HOME
