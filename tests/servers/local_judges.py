"""Judges that are functions or commands, written into the folder of a study as users write them."""

from pathlib import Path

FUNCTIONS = '''
import asyncio, os, random, time

LOG = os.environ.get("ASKED_LOG")


def heard(call):
    """Write down which call was asked, whole, before it is answered."""
    if LOG:
        with open(LOG, "ab", buffering=0) as log:
            log.write(call.id.encode() + b"\\n")


def plain(call):
    heard(call)
    time.sleep(0.01)
    return random.Random(call.seed).choice(["A", "B", "TIE"])


async def waiting(call):
    heard(call)
    await asyncio.sleep(0.01)
    return random.Random(call.seed).choice(["A", "B", "TIE"])
'''

LINES = """
import json, os, random, sys, time

for line in sys.stdin:
    call = json.loads(line)
    with open(os.environ["ASKED_LOG"], "ab", buffering=0) as log:
        log.write(call["id"].encode() + b"\\n")
    time.sleep(0.01)
    print(json.dumps({"id": call["id"], "text": random.Random(call["seed"]).choice(["A", "B"])}))
"""

ONCE = """
import os, random, sys

prompt = sys.stdin.read()
if "ASKED_LOG" in os.environ:
    with open(os.environ["ASKED_LOG"], "ab", buffering=0) as log:
        log.write(os.environ["JUDGELAW_ID"].encode() + b"\\n")
print(random.Random(int(os.environ["JUDGELAW_SEED"])).choice(["A", "B"]))
"""


def function_judge(call: str = "judge_functions:plain", **fields) -> dict:
    return {"name": "fn", "provider": "python", "call": call, **fields}


def command_judge(*command: str, **fields) -> dict:
    return {"name": "script", "provider": "command", "command": list(command), **fields}


def write_code(folder: Path) -> None:
    """Write the functions and the scripts beside a study."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "judge_functions.py").write_text(FUNCTIONS)
    (folder / "lines.py").write_text(LINES)
    (folder / "once.py").write_text(ONCE)
