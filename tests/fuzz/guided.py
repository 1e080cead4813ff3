"""Coverage-guided fuzzing of one target: `python tests/fuzz/guided.py TARGET [libFuzzer options]`.

A file among the options is replayed; a folder collects what the search finds to be new.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["judgelaw"]):
    from fuzz.targets import CORPUS, TARGETS, attempt


def main() -> None:
    name, *options = sys.argv[1:]
    target = TARGETS[name]
    if not any(Path(option).exists() for option in options):
        options.append(tempfile.mkdtemp(prefix="judgelaw-fuzz-"))
    if not any(Path(option).is_file() for option in options):
        # libFuzzer writes to the first folder that it is given, and only reads the others.
        options.append(str(CORPUS / name))
    atheris.Setup([sys.argv[0], *options], lambda data: attempt(target, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
