"""Time arch's bootstrap of column means: `python arch_bands.py VALUES.npy DRAWS`.

Runs in arch's environment, without judgelaw.
"""

import json
import sys
import time

import arch
import numpy as np
from arch.bootstrap import IIDBootstrap


def main(path: str, draws: int) -> None:
    values = np.load(path)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        bootstrap = IIDBootstrap(values, seed=np.random.default_rng(0))
        bootstrap.conf_int(lambda x: x.mean(axis=0), reps=draws, method="percentile")
        seconds.append(time.perf_counter() - start)
    found = {"seconds": min(seconds), "arch": arch.__version__, "numpy": np.__version__}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
