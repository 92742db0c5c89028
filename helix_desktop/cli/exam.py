"""The command `exam`: ask a model about recorded sessions and print how much it could recall."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from helix_desktop.agent.ports.model import Model
from helix_desktop.app.exit_codes import FAILED, USAGE
from helix_desktop.cli.output import ProgressPrinter, print_notice, print_out
from helix_desktop.cli.replay import load_policy
from helix_desktop.cli.run import requested_model
from helix_desktop.cli.workspace_command import with_services
from helix_desktop.domain.errors import HelixError, InvalidInput, ModelError
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.exam.examiner import CONDITIONS, Examiner, ExamPart, QuestionResult, plan_exam
from helix_desktop.exam.questions import read_questions
from helix_desktop.exam.report import format_table, to_document
from helix_desktop.replay.recording import find_recordings
from helix_desktop.services.app_services import AppServices
from helix_desktop.words.errors import error_text
from helix_desktop.words.numbers import format_usd
from helix_desktop.words.translation import Translator, translate

tr = Translator("Command line")
text = TextContext("Command line")


def exam(args: argparse.Namespace) -> int:
    """Ask every question and print the results; say so if there is no model to ask.

    Raises InvalidRecording, InvalidInput.
    """
    policy = load_policy(args.policy)
    parts = plan_exam(find_recordings(args.files), read_questions(args.questions), args.limit)

    async def work(services: AppServices) -> int:
        try:
            model = await _model(services, args)
            judge = await services.models.adhoc(args.judge, args.base_url, 0) if args.judge else None
        except HelixError as error:
            _print_not_measured(args, error, parts)
            return USAGE
        results, failure = await _examine(Examiner(model, policy, judge), parts)
        if results:
            _print_results(args, model, judge, results)
        else:
            _print_not_measured(args, failure or _too_small_error(model), parts)
        if failure is None:
            return 0 if results else USAGE
        print_notice(error_text(failure))
        return FAILED

    return with_services(args, work)


async def _model(services: AppServices, args: argparse.Namespace) -> Model:
    """Return the model on the command line, or the user's default. Raises HelixError."""
    model = await requested_model(services, args) or await services.models.by_label("")
    if model.info.demo:
        raise InvalidInput(
            text("No model is set up."),
            text("The offline demo model answers from a script."),
            text(
                "Set one up in Settings → Providers, or choose one with {model} or {base_url}.",
                model="--model",
                base_url="--base-url",
            ),
        )
    return model


async def _examine(
    examiner: Examiner, parts: Sequence[ExamPart]
) -> tuple[list[QuestionResult], ModelError | None]:
    """Return the results, and the error that ended the exam early: what was measured until then counts."""
    results: list[QuestionResult] = []
    progress = ProgressPrinter(tr("Recall exam"))
    total = sum(len(part.questions) for part in parts) * len(CONDITIONS)
    try:
        for part in parts:
            async for result in examiner.examine(part):
                results.append(result)
                progress.update(len(results), total)
    except ModelError as error:
        return results, error
    return results, None


def _too_small_error(model: Model) -> InvalidInput:
    return InvalidInput(
        text("No recording fits the context window under this policy."),
        text("The model has {window} tokens.", window=model.info.window),
        text("Choose a model with a larger context window, or another policy."),
    )


def _print_not_measured(args: argparse.Namespace, error: HelixError, parts: Sequence[ExamPart]) -> None:
    reason = join_sentences(error.what, error.why, error.details, error.fix)
    if args.json:
        questions = sum(len(part.questions) for part in parts)
        print_out(json.dumps({"measured": False, "reason": str(reason), "questions": questions}, indent=1))
    else:
        print_out(tr("Not measured. {reason}", reason=translate(reason)))


def _print_results(
    args: argparse.Namespace, model: Model, judge: Model | None, results: Sequence[QuestionResult]
) -> None:
    judge_label = judge.info.label if judge else ""
    if args.json:
        document = to_document(results, model.info, args.policy, judge_label)
        print_out(json.dumps(document, indent=1))
        return
    question_count = len({result.id for result in results})
    recording_count = len({result.recording for result in results})
    print_out(
        tr(
            "Model {model}, context window {window}, policy {policy}; {questions} on {recordings}",
            model=model.info.label,
            window=model.info.window,
            policy=args.policy,
            questions=tr.plural(question_count, "%n question", "%n questions"),
            recordings=tr.plural(recording_count, "%n recording", "%n recordings"),
        )
    )
    if judge is not None:
        print_out(tr("Judging model {model}", model=judge_label))
    print_out(format_table(results))
    if cost := sum(result.cost for result in results):
        print_out(tr("Cost of the answers: {cost}", cost=format_usd(cost)))
