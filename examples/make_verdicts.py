"""Write verdicts.csv: support replies judged pass or fail under two prompts, three times each.

The law is known: under `plain` nine calls in ten agree with people, under `strict` a reply that
people pass is failed in half of the calls.

python examples/make_verdicts.py examples/verdicts.csv
"""

import sys

import numpy as np

from judgelaw.tables import write_calls

REPLIES, REPEATS = 80, 3
rng = np.random.default_rng(5)
people = ["pass" if i % 2 else "fail" for i in range(REPLIES)]
rows = []
for i, right in enumerate(people):
    sure = rng.choice([0.98, 0.75], p=[0.7, 0.3])
    for prompt in ("plain", "strict"):
        p = sure if right == "fail" or prompt == "plain" else sure - 0.45
        for _ in range(REPEATS):
            other = "fail" if right == "pass" else "pass"
            verdict = right if rng.random() < p else other
            rows.append((f"reply-{i + 1:02}", prompt, verdict, right))
names = ("item", "prompt", "verdict", "gold")
write_calls(sys.argv[1], {name: [row[n] for row in rows] for n, name in enumerate(names)})
