"""What Python hands in as a judge: functions, and the metric objects of other packages.

A metric is told by its shape, and nothing of its package is imported before it is asked.
"""

import copy
import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from judgelaw.errors import InputError
from judgelaw.judges.port import JudgeFunction
from judgelaw.judges.python import Call, Invalid, Reply

UNIT: Mapping[str, float] = {"from": 0.0, "to": 1.0}
"""The scale of metrics whose packages score from 0 to 1."""

_ASYNC, _PLAIN = ("a_measure", "evaluate_async", "eval_async"), ("measure", "evaluate", "score")
_SAID: Mapping[str, tuple[str, ...]] = {
    "instruction": (
        *("instruction", "question", "input", "inputs", "prompt", "query", "user_input", "task"),
        "instructions",
    ),
    "candidate": (
        *("candidate", "candidate_1", "answer", "output", "outputs", "response", "actual_output"),
        *("completion", "reply", "prediction", "generation", "text"),
    ),
    "expected": (
        *("expected", "expected_output", "reference", "reference_outputs", "target", "gold_answer"),
        *("ground_truth", "ideal", "reference_answer", "expectations"),
    ),
    "context": ("context", "contexts", "retrieval_context", "retrieved_contexts", "documents"),
}
"""Names that packages have for the same field."""
_WRONG_JSON = ("invalid json", "failed to parse", "could not parse", "no valid json")


def same_field(name: str) -> tuple[str, ...]:
    """Return every name that a field is known by, its own first."""
    for names in _SAID.values():
        if name in names:
            return (name, *(other for other in names if other != name))
    return (name,)


def value_of(item: Mapping[str, Any], name: str) -> Any:
    """Return what an item says under a name, or under another name of the same field."""
    return next((item[each] for each in same_field(name) if item.get(each) is not None), None)


def as_function(judge: Any) -> JudgeFunction:
    """Return the function that asks a judge: itself, or what asks a metric object.

    A function with one parameter takes a `jl.Call`. One with parameters that are named as fields
    of an item, as in `def grade(question, answer)`, is asked with these fields.
    """
    package = type(judge).__module__.partition(".")[0]
    if package == "deepeval" and hasattr(judge, "measure"):
        return _Metric(judge, _deepeval)
    if package == "pydantic_evals" and hasattr(judge, "evaluate"):
        return _Metric(judge, _pydantic_evals)
    if _is_inspect_scorer(judge):
        return _AsyncMetric(judge, _inspect)
    if callable(judge):
        if not _takes_fields(_parameters(judge)):
            plain: JudgeFunction = judge
            return plain
        waits = any(map(inspect.iscoroutinefunction, (judge, getattr(judge, "__call__", None))))  # noqa: B004 - an object may have an async one
        return _AsyncMetric(judge, _by_name) if waits else _Metric(judge, _by_name)
    if any(hasattr(judge, name) for name in (*_ASYNC, *_PLAIN)):
        return _Metric(judge, _by_method)
    raise InputError(
        f"judge: {type(judge).__name__} {judge!r:.80} cannot be called and has no method measure, "
        "evaluate or score; hand in a function that takes a jl.Call, or a metric object"
    )


def usual_scale(judge: Any) -> Mapping[str, float] | None:
    """Return the scale of a metric object whose package scores from 0 to 1; None for any other."""
    packages = {each.__module__.partition(".")[0] for each in type(judge).__mro__}
    return UNIT if packages & {"deepeval", "autoevals"} else None


class _Metric:
    """Asks a metric object, and reads what it says as a verdict."""

    def __init__(self, metric: Any, ask: Callable[[Any, Mapping[str, Any], Call], Any]) -> None:
        self.metric = metric
        self._ask = ask
        if callable(metric):
            self.__wrapped__ = metric  # so that an error names the user's own line

    @property
    def __name__(self) -> str:
        return name_of(self.metric)

    def __call__(self, call: Call) -> Any:
        try:
            found = self._ask(self.metric, call.item, call)
        except Exception as error:
            raise _as_invalid(error) from error
        return _awaited(found) if inspect.isawaitable(found) else _verdict(found)


class _AsyncMetric(_Metric):
    """The same where the metric is async: its calls share one event loop."""

    async def __call__(self, call: Call) -> Any:
        return await _awaited(self._ask(self.metric, call.item, call))


async def _awaited(found: Any) -> Any:
    try:
        return _verdict(await found)
    except Invalid:
        raise
    except Exception as error:
        raise _as_invalid(error) from error


def _as_invalid(error: Exception) -> Exception:
    """Return `jl.Invalid` for a package's word that it could not read a reply; else the error."""
    said = str(error)
    unread = type(error).__name__ in {"JSONDecodeError", "OutputParserException"}
    if unread or any(word in said.casefold() for word in _WRONG_JSON):
        return Invalid(said, reason=f"{type(error).__name__} of {_package(error)}")
    return error


def _package(thing: Any) -> str:
    return type(thing).__module__.partition(".")[0]


def _verdict(found: Any) -> Any:
    """Return what a result says: itself, or its score, value or verdict.

    A result without one, which says what went wrong, is a reply that could not be read.
    """
    if isinstance(found, Invalid | Reply | str | bool | int | float):
        return found
    for name in ("score", "value", "verdict"):
        holds = isinstance(found, Mapping) and name in found
        if holds or (not isinstance(found, Mapping) and hasattr(found, name)):
            value = found[name] if holds else getattr(found, name)
            if value is None:
                why = found.get("error") if holds else getattr(found, "error", None)
                return Invalid(str(found), reason=str(why or f"no {name}"))
            return getattr(value, "value", value)
    return found


# Shapes of metrics ----------------------------------------------------------------------------


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _takes_fields(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Whether a function is asked with fields of an item, and not with a call."""
    needed = [
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    known = {name for names in _SAID.values() for name in names}
    named = [name for name in parameters if name in known]
    return len(needed) > 1 or len(named) > 1


def _by_name(function: Any, item: Mapping[str, Any], call: Call) -> Any:
    """Ask a function with the fields that its parameters are named after."""
    given, lacks = dict[str, Any](), list[str]()
    for name, parameter in _parameters(function).items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        value = call if name == "call" else value_of(item, name)
        if value is not None:
            given[name] = value
        elif parameter.default is parameter.empty:
            lacks.append(name)
    if lacks:
        raise TypeError(
            f"the function takes {', '.join(map(repr, lacks))}, which the item does not have: it "
            f"has {', '.join(item)}"
        )
    return function(**given)


def _by_method(metric: Any, item: Mapping[str, Any], call: Call) -> Any:
    for name in (*_ASYNC, *_PLAIN):
        if (method := getattr(metric, name, None)) is not None:
            return _by_name(method, item, call)
    raise TypeError(f"{type(metric).__name__} has no method {' or '.join(_PLAIN)}")


def _deepeval(metric: Any, item: Mapping[str, Any], call: Call) -> Any:
    """Measure a test case of deepeval, on a copy: a metric holds the state of one measurement."""
    del call
    cases = import_module("deepeval.test_case")
    listed = {name: value_of(item, name) for name in ("context", "retrieval_context")}
    case = cases.LLMTestCase(
        input=value_of(item, "input") or "",
        actual_output=value_of(item, "actual_output"),
        expected_output=value_of(item, "expected_output"),
        **{
            name: [value] if isinstance(value, str) else value
            for name, value in listed.items()
            if value is not None
        },
    )
    own = copy.copy(metric)
    own.async_mode = False
    own.measure(case, _show_indicator=False)
    return own.score if own.score is not None else Invalid(str(own.reason), reason="no score")


def _pydantic_evals(metric: Any, item: Mapping[str, Any], call: Call) -> Any:
    evaluators = import_module("pydantic_evals.evaluators")
    otel = import_module("pydantic_evals.otel")
    context = evaluators.EvaluatorContext(
        name=call.id,
        inputs=value_of(item, "input"),
        metadata=None,
        expected_output=value_of(item, "expected_output"),
        output=value_of(item, "output"),
        duration=0.0,
        _span_tree=otel.SpanTree(),
        attributes={},
        metrics={},
    )
    return metric.evaluate_async(context)


def _is_inspect_scorer(judge: Any) -> bool:
    names = list(_parameters(judge)) if callable(judge) else []
    return names[:2] == ["state", "target"]


def _inspect(scorer: Any, item: Mapping[str, Any], call: Call) -> Any:
    """Ask a scorer of Inspect about the state of a task that has ended with the answer."""
    solver, model = import_module("inspect_ai.solver"), import_module("inspect_ai.model")
    target = import_module("inspect_ai.scorer").Target
    question = str(value_of(item, "input") or "")
    state = solver.TaskState(
        model=model.ModelName("mockllm/model"),
        sample_id=item["id"],
        epoch=call.repeat + 1,
        input=question,
        messages=[model.ChatMessageUser(content=question)],
        output=model.ModelOutput.from_content("judged", str(value_of(item, "output") or "")),
    )
    expected = value_of(item, "expected") or item.get("gold") or ""
    return scorer(state, target(expected if isinstance(expected, list) else str(expected)))


# Names and sources ----------------------------------------------------------------------------


def name_of(judge: Any) -> str:
    """Return how a judge is called where nobody names it."""
    found = getattr(judge, "__name__", None) or getattr(
        getattr(judge, "func", None), "__name__", ""
    )
    name = found if isinstance(found, str) and found.isidentifier() else type(judge).__name__
    return name if name.isidentifier() and name != "function" else "judge"


def source_hash(judge: Any) -> str:
    """Return the SHA-256 of what answers: the source of a function, or of a metric's class.

    Of a metric also the version of its package and its plain attributes, so that another threshold
    or model is another judge. What a function calls or closes over is not seen.
    """
    judge = judge.metric if isinstance(judge, _Metric) else judge
    plain = inspect.unwrap(getattr(judge, "func", judge))
    if inspect.isfunction(plain) or inspect.ismethod(plain):
        return _sha256([_source(plain)])
    kind = type(judge)
    held = vars(judge) if hasattr(judge, "__dict__") else {}
    simple = [
        f"{name}={value!r}"
        for name, value in sorted(held.items())
        if value is None or isinstance(value, str | bool | int | float | list | tuple)
    ]
    return _sha256([kind.__module__, kind.__qualname__, _source(kind), _version(kind), *simple])


def _sha256(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _source(thing: Any) -> str:
    """Return the source of a function or class; of one that no file holds, its code."""
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return _code(getattr(thing, "__code__", None))


def _code(code: Any) -> str:
    if code is None:
        return ""
    inner = [_code(each) if inspect.iscode(each) else repr(each) for each in code.co_consts]
    return "\0".join([code.co_code.hex(), *code.co_names, *inner])


def _version(kind: type) -> str:
    try:
        return version(kind.__module__.partition(".")[0].replace("_", "-"))
    except PackageNotFoundError:
        return ""
