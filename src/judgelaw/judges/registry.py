"""Which judge a study's provider names: ours, then those of entry points."""

from importlib.metadata import entry_points

from judgelaw.design.judge import JudgeSpec
from judgelaw.errors import InputError
from judgelaw.judges.protocol import Judge, JudgeFactory, Surroundings

GROUP = "judgelaw.judges"


def _http(spec: JudgeSpec, around: Surroundings) -> Judge:
    from judgelaw.judges.http import HttpJudge  # noqa: PLC0415 - aiohttp loads when a judge opens

    return HttpJudge(spec, around)


def _simulated(spec: JudgeSpec, around: Surroundings) -> Judge:
    from judgelaw.judges.simulated import SimulatedJudge  # noqa: PLC0415 - loads NumPy

    return SimulatedJudge(spec, around)


def _embedded(spec: JudgeSpec, around: Surroundings) -> Judge:
    from judgelaw.judges.embedded import EmbeddedJudge  # noqa: PLC0415 - needs the extra

    judge: Judge = EmbeddedJudge(spec, around)
    return judge


BUILT_IN: dict[str, JudgeFactory] = {
    "openai-chat": _http,
    "openai-completions": _http,
    "anthropic": _http,
    "embedded": _embedded,
    "simulated": _simulated,
}


def open_judge(spec: JudgeSpec, around: Surroundings) -> Judge:
    """Return the judge of a configuration, not yet entered."""
    return _factory(spec)(spec, around)


def _factory(spec: JudgeSpec) -> JudgeFactory:
    if spec.provider in BUILT_IN:
        return BUILT_IN[spec.provider]
    others = {point.name: point for point in entry_points(group=GROUP)}
    if spec.provider not in others:
        raise InputError(
            f"judge {spec.name}: provider {spec.provider!r} is unknown; there are "
            f"{', '.join([*BUILT_IN, *sorted(others)])}, and an entry point of the group {GROUP} "
            "adds one"
        )
    factory: JudgeFactory = others[spec.provider].load()
    return factory
