"""
Which chunk follows which?
==========================

Text chunking cuts a sentence into noun phrases, verb phrases and so on; every word gets a tag that
begins (B), continues (I) or is outside (O) a chunk. What a word is depends on its neighbours twice:
through the features, which look at the words around, and through the transition weights, which
score pairs of neighbouring tags. What do the latter learn?

The data are those of the CoNLL-2000 shared task; a folder that holds them can be named by the
environment variable ``SSTRUCT_DATA``. Five hundred sentences are enough for the picture.
"""

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline

from sstruct import ChainSSVM
from sstruct.datasets import fetch_conll2000
from sstruct.metrics import chunk_f1_score, flat_accuracy_score
from sstruct.plotting import TransitionDisplay
from sstruct.preprocessing import SequenceVectorizer

data, y = fetch_conll2000(return_X_y=True)
data_test, y_test = fetch_conll2000(subset="test", return_X_y=True)
data, y, data_test, y_test = data[:500], y[:500], data_test[:200], y_test[:200]

# %%
# Features are dicts, one a word, as python-crfsuite reads them: a string is one attribute for each
# value, a bool or a number is the weight of an attribute.


def features(sentence):
    """Describe each word by itself and by its two neighbours."""
    rows = []
    for t, (word, pos) in enumerate(sentence):
        row = {"word": word.lower(), "suffix": word[-3:], "pos": pos, "capital": word[0].isupper()}
        if t > 0:
            row["before"] = {"word": sentence[t - 1][0].lower(), "pos": sentence[t - 1][1]}
        if t + 1 < len(sentence):
            row["after"] = {"word": sentence[t + 1][0].lower(), "pos": sentence[t + 1][1]}
        rows.append(row)
    return rows


X = [features(sentence) for sentence in data]
X_test = [features(sentence) for sentence in data_test]

# %%
# The vectorizer and the chain are one estimator, for a search over its parameters as well.

model = make_pipeline(SequenceVectorizer(min_count=2), ChainSSVM(random_state=0))
model.fit(X, y)

# %%
# Chunks are right if their type and both of their ends are.

predicted = model.predict(X_test)
f1 = chunk_f1_score(y_test, predicted)
accuracy = flat_accuracy_score(y_test, predicted)
print(f"chunk F1 {f1:.3f}, words right {accuracy:.3f}")

# %%
# Rows are the tag of a word, columns the tag of the next.

TransitionDisplay.from_estimator(model[-1])
plt.show()

# %%
# The model was told nothing about tags but their names, and has found the grammar of chunks: I-NP
# is welcome after B-NP and I-NP, and pushed away by every other tag that is common.
