"""A real model behind a real server, and a proxy with faults in front of it; `make test-live` installs both."""

from collections.abc import Iterator

import pytest
from faults import FaultProxy, fault_proxy
from model_server import ModelServer


@pytest.fixture(scope="session")
def model_process() -> Iterator[ModelServer]:
    server = ModelServer()
    server.start()
    yield server
    server.kill()


@pytest.fixture
def server(model_process: ModelServer) -> ModelServer:
    """The server, running: a test before may have killed it."""
    model_process.start()
    return model_process


@pytest.fixture
def proxy(server: ModelServer) -> Iterator[FaultProxy]:
    with fault_proxy(server.port) as proxy:
        yield proxy
