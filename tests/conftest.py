"""Seeds and small data. SSTRUCT_SEED=7 runs every random test on other data."""

import functools
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

# Worker processes need not find the tests.
cloudpickle.register_pickle_by_value(tests)

# Read by the type checker alone (`make lint`).
collect_ignore = ["package/user_script.py"]


SEED = int(os.environ.get("SSTRUCT_SEED", "0"))

# Hypothesis draws the same examples on every run; the data in them come from SSTRUCT_SEED too.
hypothesis.settings.register_profile(
    "sstruct", deadline=None, derandomize=True, database=None, print_blob=False
)
hypothesis.settings.load_profile("sstruct")


def pytest_report_header(config):
    return f"SSTRUCT_SEED={SEED}"


@pytest.fixture
def rng(request):
    """Return a generator of the test's own: a function of SSTRUCT_SEED and the test's name.

    Folders below ``tests/<layer>/`` do not count: a test keeps its data when its file moves there.
    """
    path, _, name = request.node.nodeid.partition("::")
    *folders, file = path.split("/")
    key = "/".join([*folders[:2], file]) + "::" + name
    return np.random.default_rng([SEED, crc32(key.encode())])


@pytest.fixture(scope="module")
def small_fits_at_once():
    """Let fits of few samples, too, have visits under way at once."""
    from sstruct._solvers.frank_wolfe import visit_order

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visit_order, "FEWEST_BLOCKS", 0)
        patch.setattr(visit_order, "LEAST_WORK", 0.0)
        yield


@pytest.fixture(scope="session")
def new_rng():
    """Make a generator from integers and SSTRUCT_SEED: for hypothesis and parametrized data."""
    return lambda *key: np.random.default_rng([SEED, *key])


@pytest.fixture
def sigint():
    """Let SIGINT raise KeyboardInterrupt, even if the caller ignores it, as nohup does."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture
def tiny_chains(new_rng):
    """14 noisy chains of 1 to 4 nodes with 3 features and 3 labels: not separable."""
    rng = new_rng(1)
    lengths = [1, 2, 3, 4, 4, 3, 2, 1, 3, 4, 2, 3, 4, 2]
    X = [rng.standard_normal((length, 3)) for length in lengths]
    score = rng.standard_normal((3, 3))
    y = [np.argmax(x @ score + 1.5 * rng.standard_normal((len(x), 3)), axis=1) for x in X]
    y[0][:], y[7][:], y[3][:3] = 0, 1, [0, 1, 2]  # every label occurs
    return X, y


@pytest.fixture
def server(tmp_path):
    """A local web server: the folder it serves, its address, and the requests it got."""
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
