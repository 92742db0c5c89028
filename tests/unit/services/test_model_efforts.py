"""Which effort a model gets: of the workspace, of its own settings, or of work in the background."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.agent.model_roles import CallBill, complete
from helix_desktop.config.secrets import SecretStore
from helix_desktop.config.settings import ModelEntry, Provider, Settings
from helix_desktop.domain.choices import Effort
from helix_desktop.domain.messages import CacheHints, Message, ModelInfo, ModelRequest
from helix_desktop.services.model_service import ModelService
from helix_desktop.workspaces.registry import WorkspaceRecord
from tests.support.scripted_model import ScriptedModel, WordCounter, text_reply

PROVIDER = Provider(
    name="lab",
    base_url="http://127.0.0.1:9/v1",
    models=(ModelEntry(name="large", effort="high"), ModelEntry(name="quick", effort="minimal")),
)
SETTINGS = Settings(providers=(PROVIDER,), model="lab/large", fast="lab/quick")


async def efforts_of(settings: Settings, workspace: Effort) -> list[tuple[Effort, Effort]]:
    """Return what the main and the fast model of a workspace send: in a session, and for summaries."""
    secrets = SecretStore({})
    models = ModelService(lambda: settings, secrets)
    try:
        roles = await models.roles(WorkspaceRecord(id="w", path="/w", name="w", effort=workspace))
        assert roles.fast is not None
        return [(model.info.effort, model.info.background_effort) for model in (roles.main, roles.fast)]
    finally:
        await models.close()
        secrets.close()


async def test_the_narrower_setting_counts_and_background_work_has_its_own() -> None:
    assert await efforts_of(SETTINGS, "") == [("high", ""), ("minimal", "minimal")]
    assert await efforts_of(SETTINGS, "low") == [("low", ""), ("minimal", "minimal")]
    assert await efforts_of(SETTINGS, "default") == [("default", ""), ("minimal", "minimal")]
    low = msgspec.structs.replace(SETTINGS, background_effort="low")
    assert await efforts_of(low, "max") == [("max", "low"), ("minimal", "low")]


@pytest.mark.parametrize(("background", "sent"), [("", ""), ("low", "low"), ("max", "high")])
async def test_a_summary_asks_for_the_background_effort(background: Effort, sent: str) -> None:
    info = ModelInfo("lab", "large", efforts=("low", "high"), effort="high", background_effort=background)
    model = ScriptedModel(lambda _: text_reply("Short."), info)
    await complete(model, ModelRequest((Message("user", "Extract."),)), CallBill(WordCounter()))
    forked = ModelRequest((Message("user", "Which form?"),), cache=CacheHints("key"), effort="high")
    await complete(model, forked, CallBill(WordCounter()))
    assert [request.effort for request in model.requests] == [sent, "high"]
