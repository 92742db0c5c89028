"""A client of HTTP for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from helix_desktop.providers.http import HttpClient, Timeouts


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    """A client that gives up before the test does, but not because the machine is busy."""
    client = HttpClient(Timeouts(connect_s=60.0, read_s=60.0))
    yield client
    await client.aclose()
