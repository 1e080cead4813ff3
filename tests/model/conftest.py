"""One served model for all tests of a worker."""

import pytest

from judgelaw.errors import MissingExtraError
from judgelaw.judges.embedded import EmbeddedServer, check_runtime, locate_model
from judgelaw.wire import JudgeSpec
from support.model import ALONE, shallow_model, spec


@pytest.fixture(scope="session", autouse=True)
def _installed():
    """Say what is missing where the model could not be installed."""
    try:
        check_runtime()
        locate_model()
    except MissingExtraError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def server():
    with EmbeddedServer(JudgeSpec(**spec())) as running:
        yield running


@pytest.fixture(scope="session")
def lone_server():
    """The model as judges of one thread hear it."""
    with EmbeddedServer(JudgeSpec(**spec(**ALONE))) as running:
        yield running


@pytest.fixture(scope="session")
def shallow():
    """A judge of few layers, and the model as it hears it."""
    judge = spec(model_path=str(shallow_model()), **ALONE)
    with EmbeddedServer(JudgeSpec(**judge)) as running:
        yield judge, running
