"""What servers ask the user during a call, of both protocols: asked, answered, declined, waited for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.question import FormField, ServerQuestion, ServerReply
from helix_desktop.mcp.client import servers
from helix_desktop.mcp.client.servers import MAX_QUESTIONS
from tests.support.mcp.mcp_rig import McpRig, raw_server, sdk_server

ASK = "mcp__raw__ask"
DEPLOY = "mcp__made__deploy"
ECHO = "mcp__raw__echo"
PAGE = {"mode": "url", "message": "Sign in.", "url": "https://example.org/sign?id=1", "elicitationId": "e1"}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Full\u200b name", "minLength": 2, "default": "Ada"},
        "mail": {"type": "string", "format": "email"},
        "copies": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "huge": {"type": "integer", "maximum": 10**400},
        "fast": {"type": "boolean", "default": True},
        "color": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"], "type": "string"}, "maxItems": 1,
                 "default": ["b"]},
        "api_key": {"type": "string", "default": "abc"},
        "githubToken": {"type": "string"},
    },
    "required": ["name"],
}  # fmt: skip
FIELDS = (
    FormField("name", "text", "Full name", is_required=True, default="Ada", least=2),
    FormField("mail", "text", "mail", format="email"),
    FormField("copies", "integer", "copies", default=2, least=1, most=9),
    FormField("huge", "integer", "huge"),
    FormField("fast", "boolean", "fast", default=True),
    FormField("color", "choice", "color", choices=(("r", "Red"), ("g", "Green"))),
    FormField("size", "choice", "size", choices=(("s", "Small"), ("l", "l"))),
    FormField("tags", "choices", "tags", choices=(("a", "a"), ("b", "b")), default=("b",), most=1),
    FormField("api_key", "text", "api_key", is_secret=True),
    FormField("githubToken", "text", "githubToken", is_secret=True),
)


class User:
    """A user who gives each question the same reply, and keeps what was asked."""

    def __init__(self, reply: ServerReply | None) -> None:
        self.reply = reply
        self.questions: list[ServerQuestion] = []

    async def __call__(self, question: ServerQuestion) -> ServerReply | None:
        self.questions.append(question)
        return self.reply


def form(**schema: Any) -> dict[str, Any]:
    return {"message": "Who are you?", "requestedSchema": {"type": "object", "properties": {}, **schema}}


async def ask(rig: McpRig, user: User, params: dict[str, Any]) -> tuple[Any, str]:
    """Have the raw server ask; return what it got, and what the call's output says of it."""
    result = await rig.call_asking(ASK, user, method="elicitation/create", params=params)
    reply, _, note = result.content.decode().partition("\n\n")
    return json.loads(reply), note


async def test_a_form_is_asked_and_its_values_reach_the_server_alone(rig: McpRig) -> None:
    """The user gets every kind of field; the output says what was filled in, without the values."""
    await rig.start_servers(raw_server())
    content = (("name", "Grace"), ("copies", 3), ("tags", ("a",)))
    user = User(ServerReply(action="accept", content=content))
    got, note = await ask(rig, user, form(**SCHEMA))
    assert got == {"action": "accept", "content": {"name": "Grace", "copies": 3, "tags": ["a"]}}
    assert note == "[raw asked: Who are you? – The user accepted: name, copies, tags]"
    assert user.questions == [ServerQuestion("", "Who are you?", server="raw", fields=FIELDS)]


async def test_no_answer_is_told_the_server_and_the_model(rig: McpRig) -> None:
    """Declined, canceled, and asked where no user is."""
    await rig.start_servers(raw_server())
    for reply, action, words in (
        (ServerReply(action="decline"), "decline", "The user declined"),
        (ServerReply(action="cancel"), "cancel", "The user canceled"),
        (None, "decline", "Declined, as no user is there"),
    ):
        note = f"[raw asked: Who are you? – {words}]"
        assert await ask(rig, User(reply), form()) == ({"action": action}, note)


async def test_a_page_is_opened_with_consent_alone(rig: McpRig) -> None:
    """Its address is part of the question; the server gets the consent without content."""
    await rig.start_servers(raw_server("recent"))
    user = User(ServerReply(action="accept", url=PAGE["url"]))
    assert (await ask(rig, user, PAGE))[0] == {"action": "accept"}
    assert user.questions[0].url == PAGE["url"]


async def test_a_call_that_needs_a_page_is_repeated_once_the_user_is_done_there(rig: McpRig) -> None:
    await rig.start_servers(raw_server("recent"))
    user = User(ServerReply(action="accept", url=PAGE["url"]))
    result = await rig.call_asking(ECHO, user, pages=[PAGE])
    assert json.loads(result.content.decode().partition("\n\n")[0]) == {"pages": [PAGE]}
    first, then = user.questions
    assert (first.url, then.url) == (PAGE["url"], "")
    assert then.text == "Are you done in the browser? The call is repeated then."


async def test_a_call_whose_page_is_declined_is_not_repeated(rig: McpRig) -> None:
    await rig.start_servers(raw_server("recent"))
    user = User(ServerReply(action="decline"))
    with pytest.raises(ToolError, match=r"Sign in first\."):
        await rig.call_asking(ECHO, user, pages=[PAGE, PAGE])
    assert len(user.questions) == 1, "nor is the next page shown"


async def test_the_row_says_when_the_page_is_done(rig: McpRig) -> None:
    """The server says so while the call runs on."""
    await rig.start_servers(raw_server("recent"))
    said = list[str]()
    done = {"method": "notifications/elicitation/complete", "params": {"elicitationId": "e1"}}
    user = User(ServerReply(action="accept", url=PAGE["url"]))
    await rig.call_asking(ASK, user, said.append, method="elicitation/create", params=PAGE, then=done)
    assert said == ["The page in the browser is done.\n"]


MISLEADING = (
    "file:///etc/passwd", "https://good.org@bad.org/", "https://bad.org/\u202e", "https://b\u00fccher.de/",
    "https://%78n--bcher-kva.de/", "https://bad.org\\.good.org/",
)  # fmt: skip


async def test_what_cannot_be_shown_is_refused_unasked(rig: McpRig) -> None:
    """Nested and endless forms, and addresses that mislead."""
    await rig.start_servers(raw_server("recent"))
    user = User(ServerReply(action="accept"))
    for params in (
        form(properties={"a": {"type": "object", "properties": {}}}),
        form(properties={"a": {"type": "array", "items": {"type": "string"}}}),
        form(properties={str(number): {"type": "string"} for number in range(31)}),
        *({**PAGE, "url": url} for url in MISLEADING),
    ):
        got, _ = await ask(rig, user, params)
        assert got["code"] == -32602, params
    assert user.questions == []


async def test_a_call_that_waits_for_the_user_does_not_time_out(rig: McpRig) -> None:
    """The time without a sign of life begins again with the answer; without a question it ends the call."""
    await rig.start_servers(raw_server(quiet_s=1))

    async def slow_user(question: ServerQuestion) -> ServerReply:
        await asyncio.sleep(1.5)
        return ServerReply(action="decline")

    result = await rig.call_asking(ASK, slow_user, method="elicitation/create", params=form())
    assert json.loads(result.content.decode().partition("\n\n")[0]) == {"action": "decline"}


async def test_a_call_asks_only_so_often(rig: McpRig) -> None:
    """What it asks after that is declined, and the user doesn't see it."""
    await rig.start_servers(raw_server())
    user = User(ServerReply(action="accept"))
    asking: dict[str, Any] = {"method": "elicitation/create", "params": form(), "times": MAX_QUESTIONS + 1}
    result = await rig.call_asking(ASK, user, **asking)
    assert json.loads(result.content.decode().partition("\n\n")[0]) == {"action": "decline"}
    assert len(user.questions) == MAX_QUESTIONS


async def test_questions_do_not_keep_a_call_running(rig: McpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time goes on after each; here, without a user, they take none."""
    monkeypatch.setattr(servers, "MAX_CALL_S", 0.5)
    await rig.start_servers(raw_server())
    asking: dict[str, Any] = {"method": "elicitation/create", "params": form(), "times": 1_000_000}
    with pytest.raises(ToolError, match="did not answer"):
        await asyncio.wait_for(rig.call_asking(ASK, User(None), **asking), 20)


async def test_a_question_ends_with_its_call(rig: McpRig) -> None:
    """The user isn't asked any more once the call was stopped; the server can be called again.

    One of the newest protocol sends the question as a result, and the call is made again with the answer.
    """
    await rig.start_servers(sdk_server(), raw_server())
    question_open = asyncio.Event()
    ended = asyncio.Event()

    async def nobody(question: ServerQuestion) -> ServerReply:
        question_open.set()
        try:
            await asyncio.Event().wait()
            return ServerReply()
        finally:
            ended.set()

    asking: dict[str, Any] = {"method": "elicitation/create", "params": form()}
    calls: list[tuple[str, dict[str, Any]]] = [(DEPLOY, {}), (ASK, asking)]
    for name, arguments in calls:
        question_open.clear()
        ended.clear()
        call = asyncio.get_running_loop().create_task(rig.call_asking(name, nobody, **arguments))
        await question_open.wait()
        call.cancel()
        await asyncio.wait_for(ended.wait(), 10)
    user = User(ServerReply(action="accept", content=(("region", "eu"), ("copies", 4))))
    result = await rig.call_asking(DEPLOY, user)
    assert result.content.decode().startswith("deployed 4 to eu")
    assert [field.title for field in user.questions[0].fields] == ["Region", "Copies"]
