"""Write calls.csv.gz: the verdicts of a simulated judge whose law is known.

python examples/make_calls.py examples/calls.csv.gz
"""

import sys

import numpy as np

from judgelaw.tables import write_calls
from judgelaw.worlds import World

world = World.from_effects(base=[0.4, 0.32, 0.22, 0.06], prompt=0.004, order=0.03)
tensor = world.tensor(items=200, prompts=6, orders=2, repeats=4, seed=1)
i, k, o, r = np.indices(tensor.ranked.shape).reshape(4, -1)
write_calls(
    sys.argv[1],
    {
        "judge": ["known-law"] * i.size,
        "item": [tensor.items[j] for j in i],
        "prompt": [tensor.prompts[j] for j in k],
        "order": [tensor.orders[j] for j in o],
        "repeat": r,
        "verdict": [tensor.verdicts[code] for code in tensor.ranked.ravel()],
    },
)
