"""Calls by the vendors' own SDKs, with their own interpreter: `python vendor_calls.py CASE URL`.

Imports nothing of ours: it is the other side of a comparison.
"""

import json
import sys

KEY = "sk-7f3a9c51e2aa44"
TEXT = "Question 0\none\ntwo"
MESSAGES = [{"role": "system", "content": "Be fair."}, {"role": "user", "content": TEXT}]


def openai_client(url, **given):
    from openai import AzureOpenAI, OpenAI

    if "api_version" in given:
        root = url.removesuffix("/v1")
        return AzureOpenAI(base_url=f"{root}/v1", api_key=KEY, max_retries=0, **given)
    return OpenAI(base_url=url, api_key=KEY, max_retries=0, **given)


def anthropic_client(url, **given):
    from anthropic import Anthropic

    return Anthropic(base_url=url.removesuffix("/v1"), max_retries=0, **given)


def chat(url):
    openai_client(url).chat.completions.create(
        model="m", messages=MESSAGES, temperature=1.0, max_tokens=8, seed=7, stop=["\n"]
    )


def reasoning(url):
    openai_client(url).chat.completions.create(
        model="m", messages=MESSAGES, max_completion_tokens=64, reasoning_effort="low", seed=7
    )


def azure(url):
    openai_client(url, api_version="2025-01-01").chat.completions.create(
        model="m", messages=MESSAGES, max_tokens=8, seed=7
    )


def completions(url):
    openai_client(url).completions.create(
        model="m", prompt=TEXT, temperature=1.0, max_tokens=8, seed=7
    )


def responses(url):
    openai_client(url).responses.create(
        model="m", input=TEXT, instructions="Be fair.", temperature=1.0, max_output_tokens=16
    )


def messages(url):
    anthropic_client(url, api_key=KEY).messages.create(
        model="m",
        system="Be fair.",
        messages=[{"role": "user", "content": TEXT}],
        max_tokens=8,
        stop_sequences=["\n"],
    )


def bearer(url):
    anthropic_client(url, auth_token=KEY, api_key=None).messages.create(
        model="m",
        messages=[{"role": "user", "content": TEXT}],
        max_tokens=8,
        extra_headers={"anthropic-beta": "prompt-caching-2024-07-31"},
    )


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
    print(json.dumps("done"))
