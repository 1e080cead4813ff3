"""Coverage-guided fuzzing of one target: `python tests/fuzz/guided.py TARGET [libFuzzer options]`.

A file among the options is replayed; a folder collects what the search finds to be new.
"""

import random
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["judgelaw"]):
    from fuzz.mutations import changed
    from fuzz.targets import CORPUS, TARGETS, attempt


def main() -> None:
    name, *options = sys.argv[1:]
    target = TARGETS[name]
    corpus = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        """Change words and values half of the time, and bytes as libFuzzer does otherwise."""
        rng = random.Random(seed)
        if rng.random() < 0.5:
            return changed(data, corpus, target.words, rng)[:most]
        mutated: bytes = atheris.Mutate(data, most)
        return mutated

    if not any(Path(option).exists() for option in options):
        options.append(tempfile.mkdtemp(prefix="judgelaw-fuzz-"))
    if not any(Path(option).is_file() for option in options):
        # libFuzzer writes to the first folder that it is given, and only reads the others.
        options.append(str(CORPUS / name))
    run = [sys.argv[0], *options]
    atheris.Setup(run, lambda data: attempt(target, data), custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
