"""Ask with inspect_ai: `python inspect_calls.py PORT CONCURRENCY CALLS`, in its own environment."""

import sys
import tempfile

from inspect_ai import Task, eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate


def main(port: int, concurrency: int, calls: int) -> None:
    model = get_model(
        "openai/bench",
        base_url=f"http://127.0.0.1:{port}/v1",
        api_key="none",
        responses_api=False,
        config=GenerateConfig(max_connections=concurrency, seed=1),
    )
    samples = [Sample(input=f"{i} {'x' * 600}", target="A") for i in range(calls)]
    task = Task(dataset=samples, solver=generate(cache=False), scorer=match())
    with tempfile.TemporaryDirectory() as folder:
        (log,) = inspect_eval(
            task, model=model, log_dir=folder, display="none", max_samples=concurrency
        )
    if log.status != "success":
        sys.exit(f"inspect_ai ended with {log.status}: {log.error}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
