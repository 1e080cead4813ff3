"""Environments of the peers: one each, made by the bench, never the project's own."""

import os
import shutil
import subprocess
import venv
from pathlib import Path

from benchmarks.figure import progress

HOME = Path(__file__).parents[2] / ".venv-peers"
PACKAGES = {
    "arch": ["arch"],
    "inspect_ai": ["inspect-ai", "openai"],
    "lm_eval": ["lm-eval[api]"],
    "vendor_sdks": ["openai", "anthropic"],
}
ENOUGH_S = 600
"""No peer is worth a longer wait; what was fetched by then is found in the cache the next time."""


class NotInstalled(Exception):  # noqa: N818 - a state that is reported, no error
    """A peer is not here; the message is the reason that the page of results gives."""


def python_with(name: str, *, install: bool) -> Path:
    """Return the interpreter of the environment that has a peer, made where it is missing."""
    folder = HOME / name
    python = folder / "bin" / "python"

    def make() -> None:
        venv.create(folder, with_pip=True, clear=True)
        _fetch(python, "-m", "pip", "install", "-q", *PACKAGES[name])

    _once(name, make, install=install)
    return python


def promptfoo(*, install: bool) -> Path:
    """Return promptfoo's command, installed by npm where it is missing."""
    folder = HOME / "promptfoo"

    def make() -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise NotInstalled("npm is not on the path (Debian: apt install npm)")
        folder.mkdir(parents=True, exist_ok=True)
        _fetch(npm, "install", "--no-fund", "--no-audit", "--prefix", folder, "promptfoo")

    _once("promptfoo", make, install=install)
    return folder / "node_modules" / ".bin" / "promptfoo"


def _once(name: str, make, *, install: bool) -> None:
    ready = HOME / name / ".ready"
    if ready.exists():
        return
    if not install:
        raise NotInstalled(f"{name} is not installed, and the quick form installs nothing")
    progress(f"installing {name} in an environment of its own")
    make()
    ready.touch()


def _fetch(*command: str | Path) -> None:
    """Run an installer; its last line of complaint is the reason where it fails."""
    tool = Path(command[0]).name if command[1] != "-m" else str(command[2])
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=ENOUGH_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"{tool} was not done after {ENOUGH_S} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        raise NotInstalled(f"{tool} failed: {(lines or ['without a word'])[0]}")


def version_in(python: Path, package: str) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run(
        [python, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def clean_environment(folder: str) -> dict[str, str]:
    """Return variables that keep a peer offline, quiet, and out of the user's own settings."""
    return {
        **os.environ,
        "HOME": folder,
        "HF_HOME": folder,
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "OPENAI_API_KEY": "none",
        "PROMPTFOO_CONFIG_DIR": folder,
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
    }
