#!/usr/bin/env python3
"""Chunking with word vectors: LogisticRegression for single words, and ChainSSVM.

    python examples/embeddings.py VECTORS.npz [--sentences 3000]

VECTORS.npz contains the arrays ``words``, (n_words,), and ``vectors``, (n_words, n_features). The
sentences are those of CoNLL-2000, which `sstruct.datasets.fetch_conll2000` downloads. The steps are
explained in the manual, in "Embeddings of BERT and other encoders".
"""

import argparse

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from sstruct import ChainSSVM, Sequences
from sstruct.datasets import fetch_conll2000
from sstruct.masks import bio_transitions
from sstruct.metrics import chunk_f1_score


class WordVectors:
    """An encoder without context: each word has a fixed vector, which is zero for unknown words."""

    def __init__(self, file, unit_norm=True):
        with np.load(file) as data:
            words, vectors = data["words"], data["vectors"].astype(np.float32)
        self.rows = {word: i for i, word in enumerate(words.tolist())}
        zeros = np.zeros((1, vectors.shape[1]), np.float32)
        self.vectors = np.vstack([normalize(vectors) if unit_norm else vectors, zeros])

    def encode(self, sentences):
        """Return the vectors of the words of each sentence as Sequences."""
        lengths = [len(sentence) for sentence in sentences]
        rows = [self.rows.get(word, -1) for sentence in sentences for word in sentence]
        return Sequences.from_lengths(self.vectors[rows], lengths)


def with_neighbors(X):
    """Append the vectors of the previous and of the next word to each word's vector."""
    padded = [np.pad(x, ((1, 1), (0, 0))) for x in X]
    rows = np.vstack([np.hstack([x[:-2], x[1:-1], x[2:]]) for x in padded])
    return Sequences.from_lengths(rows, X.lengths)


def read(subset, n_sentences=None):
    """Return the words and the labels of the first sentences."""
    bunch = fetch_conll2000(subset=subset)
    sentences = [[word for word, _ in sentence] for sentence in bunch.data[:n_sentences]]
    return sentences, bunch.target[:n_sentences]


def evaluate(name, y_test, y_pred):
    accuracy = np.mean(np.concatenate(y_pred) == np.concatenate(y_test))
    print(f"{name:<34} accuracy {accuracy:.3f}, chunk F1 {chunk_f1_score(y_test, y_pred):.3f}")


def logistic_regression(X, y, X_test, y_test):
    model = LogisticRegression(max_iter=1000).fit(X.flat, np.concatenate(y))
    return [model.predict(x) for x in X_test]


def chain(X, y, X_test, y_test):
    model = ChainSSVM(transition_mask=bio_transitions, random_state=0).fit(X, y)
    return model.predict(X_test)


def main(vectors, n_sentences=3000):
    words, y = read("train", n_sentences)
    words_test, y_test = read("test")
    encoder = WordVectors(vectors)
    X, X_test = encoder.encode(words), encoder.encode(words_test)
    evaluate("LogisticRegression", y_test, logistic_regression(X, y, X_test, y_test))
    evaluate("ChainSSVM", y_test, chain(X, y, X_test, y_test))
    X, X_test = with_neighbors(X), with_neighbors(X_test)
    evaluate("LogisticRegression, neighbors", y_test, logistic_regression(X, y, X_test, y_test))
    evaluate("ChainSSVM, neighbors", y_test, chain(X, y, X_test, y_test))
    encoder = WordVectors(vectors, unit_norm=False)
    X, X_test = (with_neighbors(encoder.encode(part)) for part in (words, words_test))
    evaluate("ChainSSVM, neighbors, any norm", y_test, chain(X, y, X_test, y_test))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vectors", metavar="VECTORS.npz")
    parser.add_argument("--sentences", type=int, default=3000)
    arguments = parser.parse_args()
    main(arguments.vectors, arguments.sentences)
