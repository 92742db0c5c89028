"""Which model extracts: the fast one, then the larger ones, then in pieces, then of what fits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from helix_desktop.agent.models import CallBill, ModelRoles
from helix_desktop.agent.output_forms import Extractor
from helix_desktop.context.intake.output_forms import OutputSource
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import (
    ContextWindowExceeded,
    ModelError,
    ModelRequestRejected,
)
from helix_desktop.domain.messages import ModelInfo, ModelRequest
from helix_desktop.domain.translatable_text import verbatim
from tests.support.scripted_model import (
    ScriptedModel,
    ScriptedReply,
    WordCounter,
    replies_in_order,
    text_reply,
)


def model(name: str, window: int, extract: ScriptedReply | None = None, demo: bool = False) -> ScriptedModel:
    """Return a model with that window; without a script its reply is its name."""
    scripted = ScriptedModel(replies_in_order(), ModelInfo("test", name, window, reserve=100, demo=demo))
    scripted.extract_script = lambda _: extract if extract is not None else text_reply(f"by {name}")
    return scripted


def extractor(
    main: ScriptedModel, fast: ScriptedModel | None = None, long: ScriptedModel | None = None
) -> Extractor:
    """Return an extractor with these models."""
    settings = (PROFILES["balanced"], PromptFrame(main.info, ""), ModelRoles(main, fast=fast, long=long))
    return Extractor(WordCounter(), "Extract.", lambda: settings)


def output(tokens: int) -> OutputSource:
    """Return an output of about so many words, in lines."""
    text = "".join(f"row {number} of many\n" for number in range(tokens // 4))
    return OutputSource(text, tokens, digest_of(text.encode()), "say", "rows")


def request_counts(*models: ScriptedModel) -> list[int]:
    """Return the number of requests to each model."""
    return [len(model.extract_requests) for model in models]


async def test_the_fast_model_is_used_if_the_output_fits_it() -> None:
    """The others get no request."""
    main, fast, long = model("main", 50_000), model("fast", 20_000), model("long", 900_000)
    bill = CallBill(WordCounter())
    result = await extractor(main, fast, long).extract(output(8_000), "names", bill)
    assert request_counts(fast, main, long) == [1, 0, 0]
    assert (result.model, result.fallback_reason, result.rejection) == ("test/fast", "", "")
    assert "by fast" in result.text
    assert bill.spent.tokens > 8_000


async def test_the_next_model_that_fits_is_used() -> None:
    """From the fast model to the main one to the long one."""
    main, fast, long = model("main", 50_000), model("fast", 9_000), model("long", 900_000)
    for tokens, expected in ((5_000, "fast"), (20_000, "main"), (200_000, "long")):
        result = await extractor(main, fast, long).extract(output(tokens), "names", CallBill(WordCounter()))
        assert result.model == f"test/{expected}"
        assert bool(result.fallback_reason) == (expected != "fast")


@pytest.mark.parametrize(
    "error",
    [
        ModelRequestRejected(verbatim("The key was refused.")),
        ContextWindowExceeded(verbatim("It is too long.")),
    ],
)
async def test_a_failed_model_is_followed_by_the_next(error: ModelError) -> None:
    """The result says why it was not the first."""
    main, fast = model("main", 50_000), model("fast", 50_000, [error])
    result = await extractor(main, fast).extract(output(5_000), "names", CallBill(WordCounter()))
    assert result.model == "test/main"
    assert result.fallback_reason == f"test/fast couldn't write it. {error.what}"


async def test_the_failure_of_all_models_is_reported() -> None:
    """The last reason counts; no model is asked twice."""
    main, fast = (
        model("main", 50_000, [ModelRequestRejected(verbatim("No."))]),
        model("fast", 50_000, [ModelRequestRejected(verbatim("No key."))]),
    )
    long = model("long", 50_000)  # it is there for what fits no other
    with pytest.raises(ModelRequestRejected, match=r"No\."):
        await extractor(main, fast, long).extract(output(5_000), "names", CallBill(WordCounter()))
    assert request_counts(main, fast, long) == [1, 1, 0]


def parts_of(requests: Sequence[ModelRequest]) -> list[str]:
    """Return the outputs inside the fences of some requests."""
    return [request.messages[1].text.partition(">\n")[2].rpartition("\n</output")[0] for request in requests]


async def test_an_output_that_fits_no_model_is_read_in_concurrent_pieces_and_merged() -> None:
    """The largest model reads all pieces concurrently; one more request merges the answers."""
    main, fast = model("main", 20_000), model("fast", 5_000)
    together = asyncio.Event()

    def extract(request: ModelRequest) -> ScriptedReply:
        if len(main.extract_requests) == 3:
            together.set()
        return [together, *text_reply(f"found {len(main.extract_requests)}")]

    main.extract_script = extract
    source = output(40_000)
    bill = CallBill(WordCounter())
    result = await extractor(main, fast).extract(source, "names", bill)
    assert request_counts(main, fast) == [4, 0]
    assert "".join(parts_of(main.extract_requests[:3])) == source.text
    assert [f"Part {n} of 3:\nfound" in parts_of(main.extract_requests)[3] for n in (1, 2, 3)] == [True] * 3
    assert result.fallback_reason == "Extracted from 3 parts."
    assert "[Extract of 40,000 tokens" in result.text
    assert bill.spent.tokens > 40_000


async def test_an_output_too_long_even_in_pieces_loses_its_middle() -> None:
    """Head and tail are read, and the request says what is missing."""
    main = model("main", 5_000)
    source = output(60_000)
    result = await extractor(main).extract(source, "names", CallBill(WordCounter()))
    (part,) = parts_of(main.extract_requests)
    assert result.fallback_reason == "The middle of the output was left out."
    assert part.startswith(source.text[:1_000])
    assert part.endswith(source.text[-1_000:])
    assert "characters left out here" in part


async def test_failed_pieces_lose_the_middle() -> None:
    """A piece that cannot be read does not fail the extract."""
    main = model("main", 20_000)
    main.extract_script = lambda _: (
        [ModelRequestRejected(verbatim("No."))] if len(main.extract_requests) <= 3 else text_reply("found")
    )
    result = await extractor(main).extract(output(40_000), "names", CallBill(WordCounter()))
    assert result.fallback_reason == "The middle of the output was left out."


async def test_a_window_smaller_than_reported_is_detected() -> None:
    """What every model finds too long is read in smaller pieces."""
    main = model("main", 20_000)
    main.extract_script = lambda _: (
        [ContextWindowExceeded(verbatim("Too long."))]
        if len(main.extract_requests) == 1
        else text_reply("found")
    )
    result = await extractor(main).extract(output(10_000), "names", CallBill(WordCounter()))
    assert result.fallback_reason == "Extracted from 2 parts."


async def test_an_extract_that_is_no_shorter_is_refused_with_its_cost() -> None:
    """The refusal has its length and the limit; the cost is known."""
    main = model("main", 50_000, text_reply("word " * 3_000))
    bill = CallBill(WordCounter())
    result = await extractor(main).extract(output(9_000), "names", bill)
    assert "must have fewer than 2,400" in result.rejection
    assert bill.spent.tokens > 12_000
