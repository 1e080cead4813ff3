"""Ask a study in slices on the machines of a Ray cluster, then join them.

    python ray_shards.py study.yaml 8

The study, its files and the folder `runs` lie where every machine sees them. A slice whose machine
is lost is started again elsewhere, and goes on where it was.
"""

import subprocess
import sys
from pathlib import Path

import ray


@ray.remote(num_cpus=1, max_retries=3, retry_exceptions=True)
def ask(study: str, number: int, of: int) -> str:
    """Ask one slice; return the folder that holds it."""
    command = [sys.executable, "-m", "judgelaw", "-q", "audit", study, "--shard", f"{number}/{of}"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def main() -> None:
    """Ask all slices, join them, and analyse."""
    study, of = str(Path(sys.argv[1]).resolve()), int(sys.argv[2])
    folders = ray.get([ask.remote(study, number, of) for number in range(1, of + 1)])
    whole = folders[0].removesuffix(f"-1-of-{of}")
    judgelaw = [sys.executable, "-m", "judgelaw"]
    subprocess.run([*judgelaw, "merge", *folders, "--out", whole], check=True)
    subprocess.run([*judgelaw, "audit", study, "--out", whole], check=True)


if __name__ == "__main__":
    main()
