"""`judgelaw simulate`: known-law studies of the estimators."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import progress, say, show_table, write_json
from judgelaw.errors import InputError, writing
from judgelaw.frames import plain
from judgelaw.record_files import read_regular
from judgelaw.replication import CustomStudy, DecisionStudy, PanelStudy, PointStudy, SampledStudy
from judgelaw.worlds import SPEC_KEYS, World

if TYPE_CHECKING:
    from judgelaw.replication import Layout

_SUFFIXES = (".svg", ".pdf", ".png")


def check_figure_path(path: Path) -> None:
    """Refuse a path of another format, before the work that would be lost with it."""
    if path.suffix not in _SUFFIXES:
        raise InputError(f"{path}: a figure is written as {', '.join(_SUFFIXES)}; name it so")


def save_figure(chart: dict[str, Any], path: Path) -> None:
    """Write a chart as a static file, in the format of the suffix."""
    from judgelaw.page import drawn

    check_figure_path(path)
    with writing(path):
        path.write_bytes(drawn(chart, path.suffix.removeprefix(".")))


Columns = dict[str, Callable[[Any], str]]

_ERRORS: Columns = {
    "plug-in bias": lambda r: f"{r.plugin_bias:+.5f}",
    "exact bias": lambda r: f"{r.analytic_bias:+.5f}",
    "debiased bias": lambda r: f"{r.debiased_bias:+.5f}",
    "MC error": lambda r: f"{r.debiased_se:.5f}",
    "MSE ratio": lambda r: f"{r.mse_ratio:.3f}",
    "exact ratio": lambda r: f"{r.exact_mse_ratio:.3f}",
    "negative": lambda r: f"{r.negative_share:.3f}",
}

POINT: Columns = {
    "K": lambda r: str(r.prompts),
    "truth": lambda r: f"{r.truth:.2f}",
    "R": lambda r: str(r.repeats),
    **_ERRORS,
    "two-repeat bias": lambda r: f"{r.panel_bias:+.5f}",
}

DECISION: Columns = {
    "truth": lambda r: f"{r.truth:.2f}",
    "R": lambda r: str(r.repeats),
    "plug-in fires": lambda r: f"{r.rule_rate_plugin:.4f}",
    "debiased fires": lambda r: f"{r.rule_rate_debiased:.4f}",
    "MC error": lambda r: f"{r.rule_rate_debiased_se:.4f}",
}

PANEL: Columns = {
    "law": lambda r: r.law,
    "R": lambda r: str(r.repeats),
    "method": lambda r: r.method,
    "bias": lambda r: f"{r.bias:+.5f}",
    "MC error": lambda r: f"{r.bias_se:.5f}",
    "coverage": lambda r: f"{r.coverage:.4f}",
    "width": lambda r: f"{r.width:.5f}",
    "no interval": lambda r: f"{r.without_interval:.4f}",
}

SAMPLED: Columns = {
    "K": lambda r: str(r.prompts),
    "R": lambda r: str(r.repeats),
    "method": lambda r: r.method,
    "plug-in bias": lambda r: f"{r.plugin_bias:+.4f}",
    "exact bias": lambda r: f"{r.analytic_bias:+.4f}",
    "bias": lambda r: f"{r.bias:+.5f}",
    "MC error": lambda r: f"{r.bias_se:.5f}",
    "coverage": lambda r: f"{r.coverage:.4f}",
    "width": lambda r: f"{r.width:.4f}",
}

CUSTOM: Columns = {
    "component": lambda r: r.component,
    "K": lambda r: str(r.prompts),
    "O": lambda r: str(r.orders),
    "truth": lambda r: f"{r.truth:.5f}",
    "R": lambda r: str(r.repeats),
    **_ERRORS,
}


def point_sentence(study: PointStudy) -> str:
    """Say what the table of biases shows."""
    summary = study.summary
    low, high = summary.mse_ratio_range
    return (
        f"The plug-in is off by what theory says (largest discrepancy "
        f"{summary.largest_discrepancy:.1e}); the debiased estimate is within "
        f"{summary.largest_z:.1f} Monte Carlo errors of the truth, with a mean squared error "
        f"{low:.1f} to {high:.1f} times smaller."
    )


def decision_sentence(study: DecisionStudy) -> str:
    """Say how often the rule fires where nothing is to be found."""
    first = study.rows[0]
    return (
        f"With no prompt effect and R = {first.repeats}, the rule above {study.tau:g} fires in "
        f"{first.rule_rate_plugin:.1%} of data sets for the plug-in and in "
        f"{first.rule_rate_debiased:.1%} for the debiased estimate."
    )


def panel_sentence(study: PanelStudy) -> str:
    """Say how the two intervals cover and how wide they are."""
    panel, complete = ([r for r in study.rows if r.method == m] for m in ("panel", "complete"))
    shorter = [c.width / p.width for p, c in zip(panel, complete, strict=True)]
    coverage = [row.coverage for row in study.rows]
    return (
        f"Intervals of nominal 95 % hold the truth in {min(coverage):.1%} to {max(coverage):.1%} "
        f"of experiments; those of the complete estimator are {min(shorter):.2f} to "
        f"{max(shorter):.2f} times as wide as the panel's."
    )


def sampled_sentence(study: SampledStudy) -> str:
    """Say what small numbers of prompts do to the interval."""
    paper, small = study.rows[:2]
    return (
        f"At K = {paper.prompts} the normal interval holds the truth in {paper.coverage:.1%} of "
        f"data sets and the small-K form in {small.coverage:.1%}."
    )


def custom_sentence(study: CustomStudy) -> str:
    """Say how far off the two estimates are at the smallest depth."""
    first = study.rows[0]
    return (
        f"Truth {first.truth:.5f} ({first.component}); at R = {first.repeats} the plug-in is off "
        f"by {first.plugin_bias:+.5f}, the debiased estimate by {first.debiased_bias:+.5f} with a "
        f"Monte Carlo error of {first.debiased_se:.5f}."
    )


F = TypeVar("F", bound=Callable[..., Any])

SCHEMA = "judgelaw.simulation/1"

_json = click.option(
    "--json", "json_file", metavar="FILE", help="Write JSON; - for stdout, without the table."
)
_tables = click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write the table of the paper as CSV, LaTeX and JSON.",
)
_seed = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)


def _number(name: str, default: int, text: str | None = None) -> Callable[[F], F]:
    return click.option(name, type=int, default=default, show_default=True, help=text)


@click.group(
    no_args_is_help=True,
    epilog=examples(
        "judgelaw simulate point                 the published table of biases, regenerated",
        "judgelaw simulate custom my-world.yaml  the same for a law of your own",
    ),
)
def command() -> None:
    """See the estimators against the truth, in worlds whose laws are known."""


@command.command(
    epilog=examples("judgelaw simulate point --json point.json --figure simulation.svg")
)
@_number("--items", 200_000, "Items per setting.")
@click.option(
    "--figure",
    "figure_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write panels a-d as .svg, .pdf or .png.",
)
@click.option(
    "--html",
    "page_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the table and the panels as one page.",
)
@_tables
@_seed
@_json
def point(
    *,
    items: int,
    figure_file: Path | None,
    page_file: Path | None,
    folder: Path | None,
    seed: int,
    json_file: str | None,
) -> None:
    """Bias and mean squared error of plug-in and debiased estimates.

    K = 5 and 6 prompts, truth 0 and .03, R = 2, 4, 8 as prefixes, two orders, the base law
    (.4, .3, .2, .1).
    """
    from judgelaw.replication import simulate_point

    if figure_file is not None:
        check_figure_path(figure_file)
    with progress("simulating items", 4 * items) as advance:
        study = simulate_point(items=items, seed=seed, progress=advance)
    if figure_file is not None:
        from judgelaw.replication import figure

        save_figure(figure(study), figure_file)
    if page_file is not None:
        _write_page(study, point_sentence(study), POINT, page_file)
    if folder is not None:
        from judgelaw.replication import point_layout

        _write_layout(point_layout(study), folder)
    _present("point", study, POINT, point_sentence(study), json_file)


@command.command(epilog=examples("judgelaw simulate decision --datasets 4000"))
@_number("--datasets", 40_000)
@_number("--items", 50, "Items per data set.")
@_number("--prompts", 6)
@click.option("--tau", type=float, default=0.02, show_default=True, help="Threshold of the rule.")
@_tables
@_seed
@_json
def decision(*, seed: int, folder: Path | None, json_file: str | None, **options: Any) -> None:
    """How often "mean prompt component above tau" fires, at truth 0 and at .03."""
    from judgelaw.replication import simulate_decision

    with progress("simulating items", 2 * options["datasets"] * options["items"]) as advance:
        study = simulate_decision(**options, seed=seed, progress=advance)
    if folder is not None:
        from judgelaw.replication import decision_layout

        _write_layout(decision_layout(study), folder)
    _present("decision", study, DECISION, decision_sentence(study), json_file)


@command.command(epilog=examples("judgelaw simulate panel --experiments 5000"))
@_number("--experiments", 20_000, "Per law.")
@_number("--items", 50, "Items per experiment.")
@_tables
@_seed
@_json
def panel(
    *, experiments: int, items: int, folder: Path | None, seed: int, json_file: str | None
) -> None:
    """Coverage of the panel interval and of the exact call interval, K = 6, R = 4 and 8.

    The published table does not give its laws: concentrated is (.9, .05, .03, .02) here, diffuse
    and the alternatives (.4, .3, .2, .1).
    """
    from judgelaw.replication import simulate_panel

    with progress("simulating items", 4 * experiments * items) as advance:
        study = simulate_panel(experiments=experiments, items=items, seed=seed, progress=advance)
    if folder is not None:
        from judgelaw.replication import panel_layout

        _write_layout(panel_layout(study), folder)
    _present("panel", study, PANEL, panel_sentence(study), json_file)


@command.command(
    epilog=examples("judgelaw simulate sampled --prompts 5 --prompts 20 --family skewed")
)
@click.option("--prompts", multiple=True, type=int, help="K; repeat for several. [4 to 40]")
@click.option("--truth", type=float, default=0.03, show_default=True, help="U_prompt of the policy")
@click.option(
    "--family",
    type=click.Choice(["uniform", "skewed", "dirichlet"]),
    default="uniform",
    show_default=True,
    help="Shape of the prompt policy.",
)
@_number("--repeats", 4)
@_number("--items", 50, "Items per data set.")
@_number("--datasets", 4_000)
@_seed
@_json
def sampled(
    *, prompts: tuple[int, ...], truth: float, family: Any, json_file: str | None, **options: int
) -> None:
    """Coverage of the sampled-prompt interval as the number K of sampled prompts grows."""
    from judgelaw.replication import SAMPLED_PROMPTS, simulate_sampled
    from judgelaw.worlds import PromptGenerator

    chosen = prompts or SAMPLED_PROMPTS
    generator = PromptGenerator.declare(prompt=truth, family=family)
    total = len(chosen) * options["datasets"] * options["items"]
    with progress("simulating items", total) as advance:
        study = simulate_sampled(generator=generator, prompts=chosen, **options, progress=advance)
    _present("sampled", study, SAMPLED, sampled_sentence(study), json_file)


@command.command(epilog=examples("judgelaw simulate custom my-world.yaml --json -"))
@click.argument("world_file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--items", type=int, help="Number of items, in place of the file's.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed, in place of the file's.")
@_json
def custom(*, world_file: Path, items: int | None, seed: int | None, json_file: str | None) -> None:
    """Simulate a world of your own: any law, K, O, R and N.

    \b
    A world file:
      base: [0.5, 0.3, 0.2]      # or laws: written out by [item,] prompt, order, verdict
      prompt: 0.01               # the components that the world shall have
      order: 0.02
      item_spread: 0.1           # how far items differ
      prompts: 6                 # K
      orders: 2                  # O
      repeats: [2, 4, 8]         # R, all prefixes of the largest
      items: 20000               # N
      component: prompt          # the one to study
    """  # noqa: D301 - click reads the backspace as "do not rewrap"
    from judgelaw.replication import simulate_custom

    world, design = read_world(world_file, items=items, seed=seed)
    with progress("simulating items", design["items"]) as advance:
        study = simulate_custom(world, **design, progress=advance)
    _present("custom", study, CUSTOM, custom_sentence(study), json_file)


def _write_page(study: Any, sentence: str, columns: Any, target: Path) -> None:
    from judgelaw.analysis import Table
    from judgelaw.page import figure_view, page
    from judgelaw.replication import figure
    from judgelaw.runs import write_page

    table = Table(
        name="point_simulation",
        title="Bias and mean squared error",
        columns=tuple(columns),
        rows=tuple(tuple(show(row) for show in columns.values()) for row in study.rows),
    )
    label = "Bias of the plug-in and of the corrected estimates over repeats, panels a to d"
    chart = figure_view("simulation", figure(study), label=label)
    write_page(target, page("Known-law simulation", sentence, [table], [chart]))


def _write_layout(layout: "Layout", folder: Path) -> None:
    """Write a table of the paper in every format."""
    from judgelaw.replication import write_layouts

    files = write_layouts({layout.name: layout}, folder)
    say(f"{', '.join(path.name for path in files)} are in {folder}", err=True)


def _present(name: str, study: Any, columns: Any, sentence: str, json_file: str | None) -> None:
    """Print one sentence and the table, and write the JSON where it is asked for."""
    if json_file is not None:
        write_json({"schema": SCHEMA, "study": name, **plain(study)}, json_file)
    if json_file != "-":
        say(sentence + "\n")
        rows = [[show(row) for show in columns.values()] for row in study.rows]
        show_table(list(columns), rows, title=f"simulate {name}, seed {study.seed}")


_DESIGN_KEYS = ("prompts", "orders", "repeats", "items", "component")
_KEYS = (*SPEC_KEYS, *_DESIGN_KEYS)


def read_world(path: Path, *, items: int | None, seed: int | None) -> tuple[World, dict[str, Any]]:
    """Read a world file; `items` and `seed` stand in for those of the file."""
    content = _load(path)
    for key in content:
        if key not in _KEYS:
            line = content.lc.key(key)[0] + 1
            raise InputError(
                f"{path}:{line}: unknown key {key!r}; a world file has {', '.join(_KEYS)}"
            )
    plain = _plain(content)
    spec = {key: value for key, value in plain.items() if key in SPEC_KEYS}
    try:
        world = World.from_spec(spec)
    except InputError as error:
        raise InputError(f"{path}{_line_of(content, str(error))}: {error}") from error
    design = _design(path, plain)
    written = {"items": plain.get("items", 20_000), "seed": plain.get("seed", 0)}
    design |= {key: _whole(path, key, value) for key, value in written.items()}
    design |= {k: v for k, v in (("items", items), ("seed", seed)) if v is not None}
    return world, design


def _load(path: Path) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    try:
        content = YAML(typ="rt").load(read_regular(path).decode())
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{path}:{line}: no valid YAML: {error.problem}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text; save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; name a file") from error
    if not isinstance(content, Mapping):
        raise InputError(f"{path}:1: a world file maps keys to values, such as `prompts: 6`")
    return content


def _design(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    design: dict[str, Any] = {}
    written = content.get("laws", content.get("deterministic"))
    shape = _shape(written)
    cells = shape[-3:-1] if "laws" in content else shape[-2:]
    if "prompts" not in content and len(cells) < 2:  # noqa: PLR2004 - prompts and orders
        raise InputError(f"{path}: how many prompts? add `prompts: 6`")
    prompts, orders = cells if len(cells) == 2 else (None, 2)  # noqa: PLR2004 - as above
    design["prompts"] = _whole(path, "prompts", content.get("prompts", prompts))
    design["orders"] = _whole(path, "orders", content.get("orders", orders))
    repeats = content.get("repeats", [2, 4, 8])
    listed = repeats if isinstance(repeats, list) else [repeats]
    design["repeats"] = [_whole(path, "repeats", r) for r in listed]
    design["component"] = content.get("component", "prompt")
    return design


def _whole(path: Path, key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{path}: {key} = {value!r}: a whole number is needed")
    return value


def _shape(nested: Any) -> tuple[int, ...]:
    """Lengths of nested lists, following the first of each."""
    lengths = []
    while isinstance(nested, list) and nested:
        lengths.append(len(nested))
        nested = nested[0]
    return tuple(lengths)


def _plain(value: Any) -> Any:
    """Replace ruamel's containers and numbers by Python's own."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def _line_of(content: Any, message: str) -> str:
    """The line of the key that a message starts with, where there is one."""
    for key in content:
        if message.startswith((f"{key} ", f"{key}[", f"{str(key).rstrip('s')}[")):
            return f":{content.lc.key(key)[0] + 1}"
    return ""
