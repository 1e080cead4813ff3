"""Ask with lm-eval: `python lm_eval_calls.py PORT CONCURRENCY CALLS`, in its own environment.

The task is a file of lines beside its description, so that no data set is fetched.
"""

import json
import sys
import tempfile
from pathlib import Path

import lm_eval
from lm_eval.tasks import TaskManager

TASK = """\
task: bench
dataset_path: json
dataset_kwargs: {{data_files: {{test: {lines}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{text}}}}"
doc_to_target: "A"
generation_kwargs: {{until: ["\\n"], max_gen_toks: 8}}
metric_list: [{{metric: exact_match}}]
"""


def main(port: int, concurrency: int, calls: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = folder / "lines.jsonl"
        lines.write_text(
            "".join(json.dumps({"text": f"{i} {'x' * 600}"}) + "\n" for i in range(calls))
        )
        (folder / "bench.yaml").write_text(TASK.format(lines=lines))
        found = lm_eval.simple_evaluate(
            model="local-chat-completions",
            model_args={
                "model": "bench",
                "base_url": f"http://127.0.0.1:{port}/v1/chat/completions",
                "num_concurrent": concurrency,
                "tokenized_requests": False,
            },
            tasks=["bench"],
            task_manager=TaskManager(include_path=str(folder), include_defaults=False),
            apply_chat_template=True,
            bootstrap_iters=0,
        )
    if found["n-samples"]["bench"]["effective"] != calls:
        sys.exit(f"lm-eval asked {found['n-samples']}, not {calls}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
