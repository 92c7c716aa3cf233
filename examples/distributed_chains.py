"""
Fit a ChainSSVM to partitions on a Dask cluster
===============================================

The sequences are partitions on the workers of a Dask cluster, here two processes on this machine.
Each worker makes passes over its partitions, and only changes of the weights are sent.

Run it as a script: ``python examples/distributed_chains.py``. It requires ``sstruct[distributed]``.
"""

from sstruct import ChainSSVM
from sstruct.datasets import make_sequences


def sequences(part, n_parts=2):
    """Return one partition: a list of pairs of a sequence and its labels."""
    X, y = make_sequences(800, random_state=0)
    return list(zip(X[part::n_parts], y[part::n_parts]))


def main():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = client.map(sequences, range(2))
        model = ChainSSVM(random_state=0).fit(parts, None)
    sent, received = (model.history_[f"bytes_{way}"][-1] for way in ("sent", "received"))
    rounds = model.history_["rounds"][-1]
    print(f"{model.status_}: gap {model.dual_gap_:.4f} after {rounds:.0f} rounds")
    print(f"{sent:.0f} bytes sent, {received:.0f} received")


if __name__ == "__main__":
    main()
