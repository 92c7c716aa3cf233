"""
Train on large data
===================

This tutorial trains a model on features in a file, without reading the
file into memory. It shows four options for large data: one array instead
of many, files instead of memory, threads, and a cluster.
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sstruct import ChainSSVM, Sequences
from sstruct.datasets import make_sequences
from sstruct.mapped import open_mapped

arrays, labels = make_sequences(
    n_samples=12000, n_labels=8, n_features=30, noise=2.0, random_state=0
)
print(len(arrays), "arrays, the first of shape", arrays[0].shape)

# %%
# One array instead of many
# -------------------------
#
# A list of arrays is suitable for a few thousand :term:`samples <sample>`.
# For more samples, use :class:`~sstruct.Sequences`, which stores all rows
# in one array, and the start of each sequence. It supports indexing and
# slicing like a list. Searches in several processes share it instead of
# copying thousands of small arrays.

X, y = Sequences.from_list(arrays), Sequences.from_list(labels)
X_test, y_test = X[10000:], y[10000:]
print(X)

# %%
# If the data are in one long table,
# ``Sequences.from_lengths(table, lengths)`` splits it.
#
# A file instead of memory
# ------------------------
#
# Features can stay in a file written by ``numpy.save``.
# :func:`~sstruct.mapped.open_mapped` maps it, so that only the parts in
# use are read. float32 takes half the space of float64, and is used
# without conversion.

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "X.npy"
np.save(path, X.flat.astype(np.float32))
X_file = Sequences(open_mapped(path), X.offsets)
print(f"{path.stat().st_size / 1e6:.0f} MB in the file")

# %%
# Labels and the starts of sequences are small and stay in memory.

model = ChainSSVM(random_state=0).fit(X_file[:10000], y[:10000])
print(model.status_)
print(f"{model.score(X_test, y_test):.3f} of the test labels are correct")

# %%
# Files larger than memory are processed in parts, each of which is read
# once per pass. By default, this applies to more than 1 GB; see
# :doc:`/how_to/memory`.
#
# Threads
# -------
#
# ``n_jobs`` is the number of threads. The results do not depend on it.
# Threads share the data, so they need little additional memory.

threaded = ChainSSVM(random_state=0, n_jobs=2).fit(X_file[:10000], y[:10000])
print("same weights:", np.array_equal(model.w_, threaded.w_))

# %%
# Threads compute the best labelings of several samples concurrently. For
# short sequences with few labels, as in this example, the gain is small;
# see :doc:`/how_to/cores`.
#
# A cluster
# ---------
#
# As for other scikit-learn estimators, searches can run on a Dask cluster.
# A single fit can also run on a cluster, for example if a user-defined
# structure has a slow :term:`max-oracle`::
#
#     import joblib
#     from distributed import Client
#
#     client = Client("scheduler-address:8786")
#     with joblib.parallel_config(backend="dask"):
#         search = GridSearchCV(ChainSSVM(), {"lam": [0.1, 1]}).fit(X, y)
#         model = StructuredSVM(oracle).fit(samples, labelings)
#
# :doc:`/how_to/cluster` contains a script that runs on a single machine.
#
# Benefits and cost of more data
# ------------------------------

sizes, errors, seconds = [300, 1000, 3000, 10000], [], []
for n in sizes:
    start = time.process_time()
    model = ChainSSVM(random_state=0).fit(X_file[:n], y[:n])
    seconds.append(time.process_time() - start)
    errors.append(100 * (1 - model.score(X_test, y_test)))

fig, (left, right) = plt.subplots(ncols=2, figsize=(8, 3.5), layout="constrained")
left.plot(sizes, errors, "o-")
left.set(ylabel="test errors (%)", xscale="log")
left.set_xticks(sizes, sizes)
left.minorticks_off()
right.plot(sizes, seconds, "o-", color="tab:orange")
right.set(ylabel="CPU seconds of the fit", xlim=(0, None))
for ax in (left, right):
    ax.set(xlabel="training sequences", ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The error decreases, and the time is about proportional to the number of
# samples: a pass visits each sample once, and the number of passes hardly
# changes.

del X_file, model, threaded  # close the file
folder.cleanup()
