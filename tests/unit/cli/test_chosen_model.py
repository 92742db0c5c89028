"""A session's own model on the command line: it answers, or the turn is refused."""

from __future__ import annotations

import pytest

from helix_desktop.cli.run import require_model
from helix_desktop.domain.errors import HelixError, ModelNotChosen
from helix_desktop.domain.messages import ModelInfo
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply


async def test_a_session_continues_with_its_own_model_or_not_at_all() -> None:
    own = ScriptedModel(replies_in_order(text_reply("Here.")), ModelInfo("lab", "own"))
    rig = AgentRig(ScriptedModel(replies_in_order(text_reply("Default."))))
    rig.configured_models["lab/own"] = own
    conversation = await rig.begin()
    await rig.workspace.choose_model(conversation.session.id, "lab/own")
    with pytest.raises(HelixError):
        await rig.workspace.choose_model(conversation.session.id, "lab/gone")
    assert conversation.session.transcript.chosen_model == "lab/own", "what is not set up is not recorded"

    later = rig.create_workspace(rig.store, rig.workspace.policy)
    again = await later.open_session(conversation.session.id)
    require_model(again)
    assert again.model.label == "lab/own"

    rig.configured_models.clear()
    await later.set_models(later.models.shared.roles)
    with pytest.raises(
        ModelNotChosen,
        match=r"^Nothing was sent.* lab/own, chosen for this session, isn't available.*--model\.$",
    ):
        require_model(again)
    await later.set_models(rig.model)
    require_model(again)
