"""A session's own model on the command line: it answers, or the turn is refused."""

from __future__ import annotations

import pytest

from helix_desktop.agent.roles import Roles
from helix_desktop.app.headless import demand_chosen_model
from helix_desktop.context.errors import HelixError, InputUnusable
from helix_desktop.context.message import ModelInfo
from tests.support.agent_rig import Rig
from tests.support.scripted_model import ScriptedModel, in_turn, said


async def test_a_session_goes_on_with_its_own_model_or_not_at_all() -> None:
    own = ScriptedModel(in_turn(said("Here.")), ModelInfo("lab", "own"))
    models = {"lab/own": own}

    async def roles_for(label: str) -> Roles:
        if label not in models:
            raise HelixError(f"There is no model {label}.")
        return Roles(models[label])

    rig = Rig(ScriptedModel(in_turn(said("Default."))))
    rig.room.roles_for = roles_for
    talk = await rig.begin()
    await rig.room.choose_model(talk.session.id, "lab/own")
    with pytest.raises(HelixError):
        await rig.room.choose_model(talk.session.id, "lab/gone")
    assert talk.session.transcript.chosen_model == "lab/own", "what is not set up is not recorded"

    later = rig.new_room(rig.store, rig.room.policy)
    later.roles_for = roles_for
    again = await later.open(talk.session.id)
    demand_chosen_model(again)
    assert again.model.label == "lab/own"

    models.clear()
    await later.use(later.terms.roles)
    with pytest.raises(InputUnusable, match="lab/own is chosen for this session"):
        demand_chosen_model(again)
