"""`judgelaw regrade`: ask the grader of a log again, or others, about the same answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgelaw.cli.options import examples, on_terminal, out_option
from judgelaw.cli.terminal import echo, write_json
from judgelaw.errors import InputError

if TYPE_CHECKING:
    from judgelaw.study import LoadedStudy


@click.command(
    epilog=examples(
        "judgelaw regrade logs/run.eval --plan --price 0.15,0.6",
        "judgelaw regrade logs/run.eval --repeats 4",
        "judgelaw regrade logs/run.eval --judge openai/gpt-4o --judge openai/gpt-4o-mini",
        "judgelaw regrade logs/run.eval --judge local/qwen --base-url http://127.0.0.1:8000/v1",
    )
)
@click.argument("log", metavar="LOG", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--judge",
    "judges",
    metavar="NAME",
    multiple=True,
    help="A grader to ask, PROVIDER/MODEL or a name of --judges; may be repeated. [default: the "
    "log's own]",
)
@click.option(
    "--judges",
    "file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A YAML file with judges as a study declares them.",
)
@click.option("--scorer", metavar="NAME", help="The scorer to ask again, where there are several.")
@click.option("--base-url", metavar="URL", help="Where the models are served.")
@click.option("--api-key", metavar="env:NAME", help="The variable that holds the key.")
@click.option(
    "--price", metavar="IN,OUT", help="Dollars per million tokens of input and of output."
)
@click.option("--repeats", type=click.IntRange(min=1), default=4, show_default=True)
@out_option
@click.option("--plan", is_flag=True, help="Show calls, tokens and price; ask nothing.")
@click.option("--json", "json_file", metavar="FILE", help="Write JSON; - for stdout alone.")
def command(
    *,
    log: Path,
    judges: tuple[str, ...],
    file: Path | None,
    scorer: str | None,
    base_url: str | None,
    api_key: str | None,
    price: str | None,
    repeats: int,
    out: Path | None,
    plan: bool,
    json_file: str | None,
) -> None:
    """Put the recorded prompts of a log's graders to them again, or to others.

    The answers stay as they are, so what differs is the grader alone. It is a run like any other:
    ledger, budget, report, and the same command resumes. Several answers to one question are one
    cluster. Labels by people in the log are the right verdicts.

    Read are logs of Inspect whose scorers asked a model.
    """
    options: dict[str, Any] = {
        "judges": judges,
        "declared": _declared(file),
        "scorer": scorer,
        "base_url": base_url,
        "api_key": api_key,
        "price": _price(price),
        "repeats": repeats,
    }
    from judgelaw.runs import regrade, regrade_study

    if plan:
        _plan(regrade_study(log, **options), json_file)
        return
    from judgelaw.cli.analyze import show
    from judgelaw.runs import REPORT

    found = regrade(log, out, shown=on_terminal(), **options)
    if json_file is not None:
        write_json(found.audited.analysis.to_json(), json_file)
    if json_file != "-":
        show(found.audited.analysis, place=str(found.audited.run))
        for each in found.agreement:
            if each.calls:
                echo(
                    f"{each.judge} gives the verdict of the log in {each.same:,} of {each.calls:,} "
                    f"calls, on {each.items:,} answers"
                )
        echo(f"report: {found.audited.run / REPORT}")


def _plan(loaded: "LoadedStudy", json_file: str | None) -> None:
    from judgelaw.runs import plan

    found = plan(loaded)
    if json_file is not None:
        write_json(found.to_json(), json_file)
    if json_file != "-":
        echo(repr(found))


def _declared(file: Path | None) -> list[dict[str, Any]]:
    """Return the judges of a file: a list, or a mapping with a list under `judges`."""
    if file is None:
        return []
    from judgelaw.study import read_yaml

    data = read_yaml(file.read_text(encoding="utf-8")).data
    listed = data.get("judges") if isinstance(data, dict) else data
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise InputError(f"{file}: write a list of judges, or one under judges:")
    return listed


def _price(given: str | None) -> tuple[float, float] | None:
    if given is None:
        return None
    parts = given.split(",")
    try:
        into, out = map(float, parts)
    except ValueError:
        raise InputError(f"--price {given}: write dollars per million tokens, 0.15,0.6") from None
    return into, out
