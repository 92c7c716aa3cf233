"""Shared fixtures. Set SSTRUCT_SEED, for example to 7, to run random tests on different data.

A few tests may still fail for some seeds: because of a bug, or because they assume properties that
random data may lack, such as that every label occurs. Draw data that always have them.
"""

import functools
import gc
import http.server
import os
import signal
import threading
from zlib import crc32

import hypothesis
import numpy as np
import pytest

import sstruct  # noqa: F401  before pytest collects its modules by their paths, without parents
import tests
from sstruct._cluster.processes import cloudpickle

# Pickle test modules by value, so that worker processes do not need to import them.
cloudpickle.register_pickle_by_value(tests)

# Used only by the type checker (`make lint`).
collect_ignore = ["package/user_script.py"]


SEED = int(os.environ.get("SSTRUCT_SEED", "0"))

# Hypothesis draws the same examples in every run; random data in them also depend on SSTRUCT_SEED.
hypothesis.settings.register_profile(
    "sstruct", deadline=None, derandomize=True, database=None, print_blob=False
)
hypothesis.settings.load_profile("sstruct")


def pytest_report_header(config):
    return f"SSTRUCT_SEED={SEED}"


@pytest.fixture
def rng(request):
    """Return a random generator, seeded with SSTRUCT_SEED and the name of the test.

    Folders below ``tests/<layer>/`` are not part of the name, so that moving a file within a layer
    does not change the data.
    """
    path, _, name = request.node.nodeid.partition("::")
    *folders, file = path.split("/")
    key = "/".join([*folders[:2], file]) + "::" + name
    return np.random.default_rng([SEED, crc32(key.encode())])


@pytest.fixture(scope="module")
def small_fits_at_once():
    """Enable concurrent visits for fits of few samples, too."""
    from sstruct._solvers.frank_wolfe import block_coordinate

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_coordinate, "FEWEST_BLOCKS", 0)
        patch.setattr(block_coordinate, "MIN_WORK", 0.0)
        yield


@pytest.fixture(scope="session")
def new_rng():
    """Return a function that creates a random generator from integers and SSTRUCT_SEED.

    For tests with hypothesis and for parametrized data.
    """
    return lambda *key: np.random.default_rng([SEED, *key])


@pytest.fixture
def sigint():
    """Let SIGINT raise KeyboardInterrupt, even if the caller ignores it, as nohup does.

    Python loses an exception that is raised within the garbage collector, in a finalizer or in a
    callback such as that of hypothesis, so no collection starts during the test.
    """
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()
    yield
    gc.enable()
    signal.signal(signal.SIGINT, previous)


@pytest.fixture
def tiny_chains(new_rng):
    """Return 14 noisy chains of 1 to 4 nodes with 3 features and 3 labels, not separable."""
    rng = new_rng(1)
    lengths = [1, 2, 3, 4, 4, 3, 2, 1, 3, 4, 2, 3, 4, 2]
    X = [rng.standard_normal((length, 3)) for length in lengths]
    score = rng.standard_normal((3, 3))
    y = [np.argmax(x @ score + 1.5 * rng.standard_normal((len(x), 3)), axis=1) for x in X]
    y[0][:], y[7][:], y[3][:3] = 0, 1, [0, 1, 2]  # every label occurs
    return X, y


@pytest.fixture
def server(tmp_path):
    """Run a local web server; yield its folder, its address and the list of received requests."""
    folder = tmp_path / "served"
    folder.mkdir()
    requests = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            requests.append(self.path)

    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        yield folder, f"http://127.0.0.1:{httpd.server_port}", requests
        httpd.shutdown()
        thread.join()
