"""One served model for all tests of a worker."""

import pytest

from judgelaw.design import JudgeSpec
from judgelaw.judges.embedded_server import EmbeddedServer
from support.model import spec


@pytest.fixture(scope="session")
def server():
    with EmbeddedServer(JudgeSpec(**spec())) as running:
        yield running
