"""A pytest plugin: the limits of a judge as tests, by the rule of `judgelaw gate`.

    @pytest.mark.judgelaw("runs/nightly", max={"prompt": 0.02, "invalid": 0.01})
    def test_judge_does_not_care_how_it_is_asked(): ...

    def test_order(judgelaw_audit):
        audit = judgelaw_audit("calls.parquet", judge="my-judge")
        audit.require(max={"order": 0.05})

A limit that is broken fails the test. One that these calls cannot decide is an expected failure
that says so, unless `on_inconclusive` is "fail" or "pass". Paths are relative to pytest's root.
Every pytest run on the machine loads this file, so it imports nothing but pytest.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import pytest

from judgelaw.errors import InputError, JudgelawError

if TYPE_CHECKING:
    from judgelaw.runs import Reading, Source
    from judgelaw.uncertainty import Gate, Limit


OnInconclusive = Literal["xfail", "fail", "pass"]
_NONE: Mapping[str, Any] = {}
_MARKER = (
    "judgelaw(source, max={}, min={}, baseline=None, margin=0.01, match={}, new_items=False, "
    "strict=False, level=0.95, "
    "on_inconclusive='xfail', judge=None, layer=None, repeats=None, design=None, "
    "incomplete='error', positions=None, blank='error', columns={}, ignore=[], where={}, ...): "
    "fail where a judge breaks a limit on call, prompt, order, interaction, total, invalid, "
    "coverage or gold, or is worse than its baseline by more than the margin; without limits, "
    "those of the run's study."
)


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The calls of a run or a table, ready to be held against limits."""

    source: "Source"
    read: "Callable[[str | Path, Mapping[str, str]], Source]"

    def require(
        self,
        *,
        max: Mapping[str, float] = _NONE,  # noqa: A002 - as in the marker and the command
        min: Mapping[str, float] = _NONE,  # noqa: A002 - same
        baseline: str | Path | None = None,
        margin: Mapping[str, float] | float | None = None,
        match: Mapping[str, str] = _NONE,
        new_items: bool = False,
        strict: bool = False,
        level: float = 0.95,
        on_inconclusive: OnInconclusive = "xfail",
    ) -> "Gate":
        """Fail the test where a limit is broken; say so where these calls cannot decide it.

        Args:
            max: largest values by quantity; without any limit, those of the run's study hold.
            min: least values, for `coverage` and `gold`.
            baseline: run or table of earlier calls that no judge may be worse than.
            margin: how much worse it may be, 0.01 by default, or by quantity.
            match: new names of the baseline's prompts, by old name.
            new_items: decide for new items like these, not for these very items.
            strict: for new items, suppose one unseen item at the end of its range throughout.
            level: confidence of each bound that decides a pass; those that decide a failure are
                adjusted for the number of limits and judges.
            on_inconclusive: what an undecided limit does: "xfail", "fail" or "pass".
        """
        from judgelaw.page import limit_sentence  # noqa: PLC0415 - NumPy, when it is needed
        from judgelaw.runs import baseline_of, check_source  # noqa: PLC0415 - same

        with _our_errors():
            if on_inconclusive not in (choices := get_args(OnInconclusive)):
                raise InputError(f"on_inconclusive={on_inconclusive!r}: say {', '.join(choices)}")
            there = None if baseline is None else self.read(baseline, match)
            before = None if there is None else baseline_of(there, margin, match)
            report = check_source(
                self.source,
                self._limits(max, min),
                scope="new" if new_items else "fixed",
                level=level,
                strict=strict,
                baseline=before,
            )
        counted = {"fail"} | ({"inconclusive"} if on_inconclusive == "fail" else set())
        if broken := [limit_sentence(d) for d in report.limits if d.verdict in counted]:
            pytest.fail("\n".join(["judgelaw gate failed", *broken]), pytrace=False)
        if report.verdict == "inconclusive" and on_inconclusive == "xfail":
            open_ones = [limit_sentence(d) for d in report.limits if d.verdict == "inconclusive"]
            pytest.xfail("judgelaw gate inconclusive: " + "; ".join(open_ones))
        return report

    def estimates(self, judge: str | None = None) -> dict[str, float]:
        """Return the components of one judge, averaged over items; nan where a facet is absent."""
        from judgelaw.estimate import COMPONENTS, decompose  # noqa: PLC0415 - NumPy

        tensors = self.source.main()
        name = next(iter(tensors)) if judge is None and len(tensors) == 1 else judge
        if name not in tensors:
            raise InputError(f"no judge {judge!r}: there are {', '.join(tensors)}; name one")
        found = decompose(
            tensors[name],
            design=self.source.estimand.design,
            order_weights=self.source.estimand.order_weights,
        ).macro()
        return {component: float(found[component]) for component in COMPONENTS}

    def _limits(self, largest: Mapping[str, float], least: Mapping[str, float]) -> "list[Limit]":
        from judgelaw.uncertainty import Limit  # noqa: PLC0415 - NumPy, when it is needed

        if not largest and not least:
            largest = self.source.gate
        unit = self.source.unit
        return [
            *(Limit.named(name, "max", x, unit) for name, x in largest.items()),
            *(Limit.named(name, "min", x) for name, x in least.items()),
        ]


@pytest.fixture
def judgelaw_audit(request: pytest.FixtureRequest) -> Callable[..., Audit]:
    """Read a run folder or a calls table, `judgelaw_audit(source, judge=None, repeats=None)`."""

    def audit(source: str | Path, **options: Any) -> Audit:
        return _read(request.config.rootpath, source, **options)

    return audit


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Decide the limits of marked tests before their body runs; leave other tests alone."""
    reading, limits = signature(_read), signature(Audit.require)
    for mark in item.iter_markers("judgelaw"):
        from judgelaw.runs import Reading  # noqa: PLC0415 - when it is needed

        args = (item.config.rootpath, *mark.args)
        read = {
            name: x
            for name, x in mark.kwargs.items()
            if name == "source" or name in Reading.__annotations__
        }
        limit = {name: x for name, x in mark.kwargs.items() if name not in read}
        try:
            reading.bind(*args, **read)
            limits.bind(None, **limit)
        except TypeError as error:
            pytest.fail(f"@pytest.mark.judgelaw: {error}; it takes {_MARKER}", pytrace=False)
        _read(*args, **read).require(**limit)


def _read(
    root: Path,
    source: str | Path,
    **reading: "Unpack[Reading]",
) -> Audit:
    from judgelaw.option_types import check_keywords  # noqa: PLC0415 - when it is needed
    from judgelaw.runs import Reading, for_baseline, read_source  # noqa: PLC0415 - same

    def read(source: str | Path, how: Reading) -> "Source":
        place = str(source)
        return read_source(place if "://" in place else str(root / place), how)

    with _our_errors():
        check_keywords(Reading, reading)
        return Audit(
            source=read(source, reading),
            read=lambda place, match: read(place, for_baseline(reading, match)),
        )


@contextmanager
def _our_errors() -> Iterator[None]:
    """Show an error of ours as one message: value, rule and remedy need no traceback."""
    try:
        yield
    except JudgelawError as error:
        pytest.fail(f"judgelaw: {error}", pytrace=False)
