"""Independent peers: each test that needs one is skipped, with the reason, where it is not installed.

    pytestmark = pytest.mark.needs_peer(module="llmock")        # from packaging/requirements-peers.txt
    pytestmark = pytest.mark.needs_peer(package="@scope/name")  # from packaging/peers/package-lock.json

`tests.support.peer_processes` has the interpreter (`PEERS.python`), the folder with node_modules
(`PEERS.node`), and a function that runs a server in its own process.
"""

from __future__ import annotations

import shutil

import pytest

from tests.support.peer_processes import missing_module_reason, missing_package_reason


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests whose peer is missing."""
    for marker in item.iter_markers("needs_peer"):
        lacking = [missing_module_reason(marker.kwargs["module"])] if "module" in marker.kwargs else []
        if "package" in marker.kwargs:
            lacking += [
                missing_package_reason(marker.kwargs["package"]),
                "" if shutil.which("node") else "no node",
            ]
        if any(lacking):
            pytest.skip("; ".join(requirement for requirement in lacking if requirement))
