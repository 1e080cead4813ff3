"""Requests of every wire against those of the vendors' own SDKs, as a server sees both."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import web

from judgelaw.acquire import acquire
from servers import vendor_calls
from servers.provider import BODIES, Provider, chat_body
from servers.study import frozen_study
from servers.vendor_calls import KEY, TEXT

pytestmark = pytest.mark.slow

PLAIN = {
    "policy": "census",
    "templates": [{"id": "p", "text": "{instruction}\n{candidate_a}\n{candidate_b}"}],
}
COMPARED = ("authorization", "x-api-key", "api-key", "anthropic-version", "anthropic-beta")
"""Headers by which a vendor knows who asks, and in which form."""

CASES = {
    "chat": {
        "provider": "openai-chat",
        "system": "Be fair.",
        "decoding": {"temperature": 1.0, "max_tokens": 8},
        "stop": ["\n"],
    },
    "reasoning": {
        "provider": "openai-chat",
        "system": "Be fair.",
        "decoding": {"max_completion_tokens": 64, "reasoning_effort": "low"},
    },
    "azure": {
        "provider": "openai-chat",
        "system": "Be fair.",
        "auth": "api-key",
        "query": {"api-version": "2025-01-01"},
        "decoding": {"max_tokens": 8},
    },
    "completions": {
        "provider": "openai-completions",
        "template": {"text": "{{ messages[0].content }}", "server_adds_bos": False},
        "decoding": {"temperature": 1.0, "max_tokens": 8},
    },
    "responses": {
        "provider": "openai-responses",
        "system": "Be fair.",
        "seed": "logical",
        "decoding": {"temperature": 1.0, "max_tokens": 16},
    },
    "messages": {
        "provider": "anthropic",
        "system": "Be fair.",
        "auth": "bearer",
        "decoding": {"max_tokens": 8},
        "stop": ["\n"],
    },
    "bearer": {
        "provider": "anthropic",
        "auth": "bearer",
        "headers": {"anthropic-beta": "literal:prompt-caching-2024-07-31"},
        "decoding": {"max_tokens": 8},
    },
}


@pytest.fixture(scope="module")
def vendors() -> Path:
    """Return an interpreter that has the SDKs, in an environment of the tests."""
    sys.path.insert(0, str(Path(__file__).parents[3]))
    from benchmarks.peers import environment

    return environment.python_with("vendor_sdks", install=True)


async def answer(seen, _request):
    """Answer at every address, as Azure's deployments have addresses of their own."""
    body = BODIES.get(seen.path, chat_body)
    return web.json_response(body())


def theirs(python, case):
    with Provider(answer) as provider:
        environment = {k: v for k, v in os.environ.items() if "_API_KEY" not in k}
        asked = [python, vendor_calls.__file__, case, provider.base_url]
        subprocess.run(asked, check=True, capture_output=True, env=environment, timeout=120)
    (seen,) = provider.seen
    return seen


def ours(tmp_path, case):
    with Provider(answer) as provider:
        root = CASES[case]["provider"] == "anthropic"
        deployment = "/deployments/m" if case == "azure" else ""
        judge = {
            "name": "j",
            "model": "m",
            "api_key": "env:VENDOR_KEY",
            "base_url": provider.root_url if root else provider.base_url + deployment,
            **CASES[case],
        }
        frozen = frozen_study(
            tmp_path, [judge], items=1, repeats=1, prompts=PLAIN, orders={"AB": 1.0}
        )
        acquire(frozen).raise_if_open()
    (seen,) = provider.seen
    return seen, next(iter(frozen.iter_calls()))


@pytest.mark.parametrize("case", CASES)
def test_a_request_is_what_the_vendors_sdk_writes(tmp_path, monkeypatch, vendors, case):
    monkeypatch.setenv("VENDOR_KEY", KEY)
    sdk = theirs(vendors, case)
    mine, call = ours(tmp_path, case)
    assert mine.path == sdk.path
    expected = json.loads(sdk.body)
    if "seed" in expected:
        expected["seed"] = call.seed
    assert json.loads(mine.body) == expected
    assert TEXT in json.dumps(expected, ensure_ascii=False).replace("\\n", "\n")
    said = [
        {name.lower(): value for name, value in seen.headers.items() if name.lower() in COMPARED}
        for seen in (mine, sdk)
    ]
    assert said[0] == said[1]
    assert mine.headers["Content-Type"].startswith("application/json")
