"""`./helix exam`: ask a model about recorded sessions and print how much it could recall."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from helix_desktop.agent.ports import Model
from helix_desktop.cli import argument_types
from helix_desktop.cli.output import ProgressPrinter, print_notice, print_out
from helix_desktop.cli.parsers.all_commands import add_model, add_patience, add_policy, add_text, keys_text
from helix_desktop.cli.replay import load_policy
from helix_desktop.cli.run import requested_model
from helix_desktop.cli.workspace_command import with_services
from helix_desktop.domain.errors import HelixError, InvalidInput, ModelError
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.app_services import AppServices
from helix_desktop.system.exit_codes import FAILED, USAGE
from helix_desktop.words.numbers import format_integer, format_usd
from helix_desktop.words.translation import error_text, translate
from tests.benchmarks.replay.measure import find_recordings
from tests.exam.examiner import CONDITIONS, MAX_CALLS, Examiner, ExamPart, QuestionResult, plan_exam
from tests.exam.questions import read_questions
from tests.exam.report import format_table, to_document

text = TextContext("Exam")
QUESTIONS = Path(__file__).parent


def main(arguments: Sequence[str]) -> int:
    """Ask, and print the results; return the exit code."""
    args = _parser().parse_args(arguments)
    try:
        return exam(args)
    except HelixError as error:
        print_notice(error_text(error))
        return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./helix exam",
        description="Each question is asked three times: with the context that a policy leaves and the "
        "recall tools, with the same context alone, and with the whole history where it fits. Each time is "
        f"a conversation of up to {MAX_CALLS + 2} requests.",
        epilog=keys_text(),
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=argument_types.path,
        metavar="FILE",
        help="recordings, or folders of recordings",
    )
    add_policy(parser)
    parser.add_argument(
        "--questions",
        type=argument_types.path,
        default=QUESTIONS,
        metavar="DIR",
        help="folder with the questions and their keys (default: tests/exam)",
    )
    add_model(parser)
    add_text(parser, "--judge", "PROVIDER/NAME", "model that judges the answers too")
    parser.add_argument(
        "--limit",
        type=argument_types.count,
        default=0,
        metavar="N",
        help="ask only N questions, in turn from each recording (0 = all)",
    )
    add_patience(parser)
    parser.add_argument(
        "--data-dir", type=argument_types.path, metavar="DIR", help="folder with settings and providers"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document with every answer")
    return parser


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
    progress = ProgressPrinter("Recall exam")
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
        print_out(f"Not measured. {translate(reason)}")


def _print_results(
    args: argparse.Namespace, model: Model, judge: Model | None, results: Sequence[QuestionResult]
) -> None:
    judge_label = judge.info.label if judge else ""
    if args.json:
        document = to_document(results, model.info, args.policy, judge_label)
        print_out(json.dumps(document, indent=1))
        return
    questions = len({result.id for result in results})
    recordings = len({result.recording for result in results})
    window = format_integer(model.info.window)
    print_out(
        f"Model {model.info.label}, context window {window}, policy {args.policy}; "
        f"{questions} question{'s' * (questions != 1)} on {recordings} recording{'s' * (recordings != 1)}"
    )
    if judge is not None:
        print_out(f"Judging model {judge_label}")
    print_out(format_table(results))
    if cost := sum(result.cost for result in results):
        print_out(f"Cost of the answers: {format_usd(cost)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
