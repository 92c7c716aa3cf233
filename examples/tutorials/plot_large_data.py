"""
Train on large data
===================

At the end of this page you have a model that learned from features in a
file, without reading the file into memory, and know which of four things
to turn when data grow: one array instead of many, a file instead of
memory, threads, and a cluster.
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
# A list of arrays is fine for some thousand :term:`samples <sample>`.
# For more, join them: :class:`~sstruct.Sequences` keeps all rows in one
# array, and where each sequence begins. It is indexed and cut like a
# list. Searches in several processes share it instead of copying
# thousands of small arrays.

X, y = Sequences.from_list(arrays), Sequences.from_list(labels)
X_test, y_test = X[10000:], y[10000:]
print(X)

# %%
# If your data are one long table already,
# ``Sequences.from_lengths(table, lengths)`` cuts it.
#
# A file instead of memory
# ------------------------
#
# Features can stay in a file that ``numpy.save`` wrote.
# :func:`~sstruct.mapped.open_mapped` maps it: parts are read where they
# are used. float32 takes half the space of float64, and is read as it
# is.

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "X.npy"
np.save(path, X.flat.astype(np.float32))
X_file = Sequences(open_mapped(path), X.offsets)
print(f"{path.stat().st_size / 1e6:.0f} MB in the file")

# %%
# Labels and where sequences begin stay in memory; they are small.

model = ChainSSVM(random_state=0).fit(X_file[:10000], y[:10000])
print(model.status_)
print(f"{model.score(X_test, y_test):.3f} of the new labels are right")

# %%
# Files larger than memory are trained on part after part, each read once a
# pass. That happens by itself from 1 GB on; :doc:`/how_to/memory` has the
# details.
#
# Threads
# -------
#
# ``n_jobs`` is the number of threads. It changes the time, and not one
# bit of the result. Threads share the data, so they cost hardly any
# memory.

threaded = ChainSSVM(random_state=0, n_jobs=2).fit(X_file[:10000], y[:10000])
print("same weights:", np.array_equal(model.w_, threaded.w_))

# %%
# Threads compute the best labelings of many samples at once. For short
# sequences with few labels, as here, there is little to share;
# :doc:`/how_to/cores` says when it pays.
#
# A cluster
# ---------
#
# Searches run on a Dask cluster as those of any scikit-learn estimator
# do. A single fit does too, if it is one of a structure of your own with
# a slow :term:`max-oracle`::
#
#     import joblib
#     from distributed import Client
#
#     client = Client("scheduler-address:8786")
#     with joblib.parallel_config(backend="dask"):
#         search = GridSearchCV(ChainSSVM(), {"lam": [0.1, 1]}).fit(X, y)
#         model = StructuredSVM(oracle).fit(samples, labelings)
#
# :doc:`/how_to/cluster` has a script that runs on your machine.
#
# What do more data bring, and cost?
# ----------------------------------

sizes, errors, seconds = [300, 1000, 3000, 10000], [], []
for n in sizes:
    begin = time.process_time()
    model = ChainSSVM(random_state=0).fit(X_file[:n], y[:n])
    seconds.append(time.process_time() - begin)
    errors.append(100 * (1 - model.score(X_test, y_test)))

fig, (left, right) = plt.subplots(ncols=2, figsize=(8, 3.5), layout="constrained")
left.plot(sizes, errors, "o-")
left.set(ylabel="wrong labels of new sequences (%)", xscale="log")
left.set_xticks(sizes, sizes)
left.minorticks_off()
right.plot(sizes, seconds, "o-", color="tab:orange")
right.set(ylabel="CPU seconds of the fit", xlim=(0, None))
for ax in (left, right):
    ax.set(xlabel="sequences to learn from", ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Errors fall, and the time grows about in proportion to the data: a pass
# visits each sample once, and the number of passes hardly changes.

del X_file, model, threaded  # nothing maps the file any longer
folder.cleanup()
