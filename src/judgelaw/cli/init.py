"""`judgelaw init`: a commented study to start from."""

import json
import re
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

import click

from judgelaw.cli.options import examples
from judgelaw.cli.terminal import echo
from judgelaw.errors import InputError, writing

_REASONING = re.compile(r"(?:.*/)?(?:o[1-9]|gpt-[5-9])(?:[.-].*)?")
"""OpenAI's models that take max_completion_tokens, and no temperature but their own."""
_REASONED = "max_completion_tokens: 2048"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """What a kind of server needs in a study, and a model to suggest.

    Attributes:
        model: None where the judge is code of one's own.
        call, command: the function or program that answers; its file is written beside the study.
    """

    provider: str
    model: str | None = None
    call: str | None = None
    command: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    seed: str = "sent"
    decoding: str = "temperature: 1.0, top_p: 1.0, max_tokens: 8"
    truncated: str = "parse # an answer cut at its cap is read; `invalid` makes it invalid"
    constrained: bool = False
    remark: str = ""


_INVALID = "invalid # an answer cut at its cap counts as invalid; `parse` reads it"

PROVIDERS = {
    "openai": Provider(
        provider="openai-chat",
        model="gpt-4.1-mini",
        base_url="https://api.openai.com/v1",
        api_key="env:OPENAI_API_KEY",
        decoding="temperature: 1.0, top_p: 1.0, max_tokens: 512",
        truncated=_INVALID,
    ),
    "anthropic": Provider(
        provider="anthropic",
        model="claude-haiku-4-5-20251001",
        base_url="https://api.anthropic.com",
        api_key="env:ANTHROPIC_API_KEY",
        seed="logical",
        decoding="max_tokens: 512",
        truncated=_INVALID,
        remark="the messages format takes no seed: seeds are recorded, not sent",
    ),
    "vllm": Provider(
        provider="openai-chat",
        model="Qwen/Qwen2.5-7B-Instruct",
        base_url="http://127.0.0.1:8000/v1",
        remark="vllm serve MODEL",
    ),
    "ollama": Provider(
        provider="openai-chat",
        model="llama3.2",
        base_url="http://127.0.0.1:11434/v1",
        remark="ollama pull MODEL; ollama serve",
    ),
    "llamacpp": Provider(
        provider="openai-chat",
        model="local",
        base_url="http://127.0.0.1:8080/v1",
        remark="llama-server -m MODEL.gguf",
    ),
    "embedded": Provider(
        provider="embedded",
        model="SmolLM2-135M-Instruct",
        constrained=True,
        remark="a small model inside judgelaw: no network, no key",
    ),
    "python": Provider(
        provider="python",
        call="judge:ask",
        decoding="",
        remark="a function of yours, in judge.py",
    ),
    "command": Provider(
        provider="command",
        command="[python, judge.py]",
        decoding="",
        remark="a program of yours: one JSON object a line in, one out",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a task needs in a study beside its own part, `assets/tasks/NAME.yaml` and `.jsonl`.

    Attributes:
        parser: how a reply is read, with a comment; None where its own part says so.
        said: everything that a judge may say, for a model that is held to it.
        gate: limits to start from.
        tokens: what a reply needs at least.
        answers: how often a probe asks, if more than once.
    """

    parser: str | None = "first-line # the first non-empty line must be one of the verdicts"
    said: tuple[str, ...]
    gate: str = "prompt: 0.02, invalid: 0.01"
    tokens: int = 8
    answers: str = ""

    @property
    def grammar(self) -> str:
        """The grammar of a model that can say nothing else."""
        rule = " | ".join(map(json.dumps, self.said))
        return f"'root ::= {rule}' # it can say nothing else"


_PAIRS = Task(
    parser="first-line # the first non-empty line must be A, B or TIE",
    said=("A", "B", "TIE"),
    gate="prompt: 0.02, order: 0.05, invalid: 0.01",
    answers=", for either answer",
)
TASKS = {
    "pairwise": _PAIRS,
    "pointwise": Task(said=("1", "2", "3", "4", "5")),
    "labels": Task(said=("pass", "fail")),
    "criteria": Task(
        parser=None,
        said=tuple(
            json.dumps({"helpful": helpful, "safe": safe})
            for helpful in ("pass", "fail")
            for safe in ("pass", "fail")
        ),
        gate="invalid: 0.01, criteria: {safe: {prompt: 0.02}}",
        tokens=40,
    ),
    "choose": Task(
        parser="first-line # the first non-empty line must be a letter that was shown",
        said=("A", "B", "C", "D"),
        gate="prompt: 0.02, order: 0.05, invalid: 0.01",
        answers=", for every answer",
    ),
    "factors": _PAIRS,
}
"""What a study may ask, by the word after --task."""


def study_text(
    kind: str, model: str | None, *, file: str, name: str, seed: int, task: str = "pairwise"
) -> str:
    """Return the study of one task for one kind of server."""
    chosen, asked = PROVIDERS[kind], TASKS[task]
    address = "".join(
        f"    {key}: {value}\n"
        for key, value in (
            ("call", chosen.call),
            ("command", chosen.command),
            ("base_url", chosen.base_url),
            ("api_key", chosen.api_key),
            ("grammar", asked.grammar if chosen.constrained else None),
            ("model", model and json.dumps(model, ensure_ascii=False)),
        )
        if value is not None
    )
    return Template(_asset("study.yaml")).substitute(
        file=file,
        name=name,
        seed=seed,
        provider=chosen.provider,
        remark=f" # {chosen.remark}" if chosen.remark else "",
        address=address,
        decoding=_decoding(chosen, model).replace("max_tokens: 8", f"max_tokens: {asked.tokens}"),
        truncated=chosen.truncated,
        policy=chosen.seed,
        task=_asset(f"tasks/{task}.yaml"),
        parser="" if asked.parser is None else f"    parser: {asked.parser}\n",
        gate=asked.gate,
    )


def _decoding(chosen: Provider, model: str | None) -> str:
    """Return the decoding that a model takes."""
    reasons = chosen.provider == "openai-chat" and model and _REASONING.fullmatch(model)
    return _REASONED if reasons else chosen.decoding


def _asset(name: str) -> str:
    """Return the text of a file that a new study is made of."""
    return files("judgelaw.cli").joinpath("assets", *name.split("/")).read_text("utf-8")


_SEED = 20261115
_SCHEMA = "study.schema.json"
"""What the first line of a study names, for editors that speak to the YAML language server."""


@click.command(
    epilog=examples(
        "judgelaw init --provider vllm --model Qwen/Qwen2.5-7B-Instruct",
        "judgelaw init --task pointwise --provider embedded",
        "judgelaw init --task labels --provider python",
        "judgelaw init --study paper --out paper/study.yaml",
    )
)
@click.option(
    "--study",
    type=click.Choice(["paper"]),
    help="The paper's protocol: with simulated judges, and live.yaml with its own four beside it.",
)
@click.option(
    "--task",
    type=click.Choice(list(TASKS)),
    help="What is judged: two answers side by side (the default; factors: under crossed prompts), "
    "a score or a label of one, several criteria of one, the best of several.",
)
@click.option("--provider", type=click.Choice(list(PROVIDERS)), help="Who answers.")
@click.option("--model", metavar="NAME", help="The model to ask for.")
@click.option("--probes", is_flag=True, help="Ask about changed answers too: what pulls it?")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("study.yaml"),
    show_default=True,
    help="The study file; existing files are never overwritten.",
)
def command(
    study: str | None,
    task: str | None,
    provider: str | None,
    model: str | None,
    out: Path,
    *,
    probes: bool,
) -> None:
    """Write a commented study, and two items to replace where there are none.

    On a terminal it asks for what is not given.
    """
    if study is not None:
        if task or provider or model:
            given = "--task, --provider, --model"
            raise click.UsageError(f"--study paper names its task and judges; leave out {given}")
        _write_protocol(out)
        return
    provider, model = _asked(provider, model)
    _refuse_existing(out)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", out.absolute().parent.name).strip("-._") or "study"
    items = out.parent / "items.jsonl"
    task = task or "pairwise"
    text = study_text(provider, model, file=str(out), name=name[:100], seed=_SEED, task=task)
    if probes:
        text += Template(_asset("probes.yaml")).substitute(each=TASKS[task].answers)
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    echo(f"wrote {out}")
    if not items.exists():
        with writing(items):
            items.write_text(_asset(f"tasks/{task}.jsonl"), encoding="utf-8")
        echo(f"wrote {items}: two examples, put your own items there")
    template = out.parent / "judge.txt"
    if task == "factors" and not template.exists():
        with writing(template):
            template.write_text(_asset("tasks/factors.txt"), encoding="utf-8")
        echo(f"wrote {template}: the text around the factors and the item")
    schema = out.parent / _SCHEMA
    if not schema.exists():
        from judgelaw.study import study_schema

        with writing(schema):
            schema.write_text(json.dumps(study_schema(), indent=1) + "\n", encoding="utf-8")
        echo(f"wrote {schema}: with it an editor completes and checks the fields of a study")
    code = out.parent / "judge.py"
    if model is None and not code.exists():
        text = Template(_asset(f"judges/{provider}.txt")).substitute(
            verdicts=repr(TASKS[task].said)
        )
        with writing(code):
            code.write_text(text, encoding="utf-8")
        echo(f"wrote {code}: a placeholder, put your own judge there")
    echo(f"next: judgelaw check {out}", err=True)


def _write_protocol(out: Path) -> None:
    """Write the paper's study, its live form and its items, none of them over another file."""
    from judgelaw.replication import protocol_files

    places = {"study.yaml": out}
    files = {places.get(name, out.parent / name): text for name, text in protocol_files().items()}
    for path in files:
        _refuse_existing(path)
    for path, text in files.items():
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        echo(f"wrote {path}")
    echo(f"next: judgelaw audit {out}, then judgelaw paper runs/paper -o FOLDER", err=True)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise InputError(f"{path} exists; give another file with --out, or remove it")


def _asked(provider: str | None, model: str | None) -> tuple[str, str | None]:
    """Ask on a terminal; elsewhere take the usual model. None: the judge is code of one's own."""
    terminal = sys.stdin.isatty()
    if provider is None:
        if not terminal:
            raise click.UsageError(f"--provider is needed: one of {', '.join(PROVIDERS)}")
        provider = click.prompt("Who answers", type=click.Choice(list(PROVIDERS)), default="vllm")
    usual = PROVIDERS[provider].model
    if model is None:
        if usual is None:
            return provider, None
        model = click.prompt("Model", default=usual) if terminal else usual
    if not model.isprintable() or not model.strip():
        raise InputError(f"model {model!r}: must be one printable line; name the model")
    return provider, model
