"""A session's own model on the command line: it answers, or the turn is refused."""

from __future__ import annotations

import pytest

from helix_desktop.agent.models.roles import ModelRoles
from helix_desktop.cli.run import require_chosen_model
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.messages import ModelInfo
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply


async def test_a_session_goes_on_with_its_own_model_or_not_at_all() -> None:
    own = ScriptedModel(replies_in_order(text_reply("Here.")), ModelInfo("lab", "own"))
    models = {"lab/own": own}

    async def roles_for(label: str) -> ModelRoles:
        if label not in models:
            raise HelixError(f"There is no model {label}.")
        return ModelRoles(models[label])

    rig = AgentRig(ScriptedModel(replies_in_order(text_reply("Default."))))
    rig.workspace.resolve_roles = roles_for
    talk = await rig.begin()
    await rig.workspace.choose_model(talk.session.id, "lab/own")
    with pytest.raises(HelixError):
        await rig.workspace.choose_model(talk.session.id, "lab/gone")
    assert talk.session.transcript.chosen_model == "lab/own", "what is not set up is not recorded"

    later = rig.create_workspace(rig.store, rig.workspace.policy)
    later.resolve_roles = roles_for
    again = await later.open_session(talk.session.id)
    require_chosen_model(again)
    assert again.model.label == "lab/own"

    models.clear()
    await later.set_models(later.run_settings.roles)
    with pytest.raises(InvalidInput, match="lab/own is chosen for this session"):
        require_chosen_model(again)
