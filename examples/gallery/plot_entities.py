"""
=================================================
Named entity recognition in sentences (ChainSSVM)
=================================================

A name is a span of words. Each word has one of the labels B (the first word of a name), I (another
word of a name) and O (outside of names). A classifier of single words may predict I after O, and
does not know whether the previous word is part of a name; a chain scores all labels of a sentence
together. The sentences are part of the package.

.. index:: ! named entity recognition
"""

from itertools import groupby

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline

from sstruct import ChainSSVM
from sstruct.datasets import load_ewt_sample
from sstruct.masks import bio_transitions
from sstruct.metrics import span_f1_score
from sstruct.plotting import SpanDisplay
from sstruct.preprocessing import SequenceVectorizer


def name_labels(tags):
    """Return BIO labels, where a name is a maximal run of proper nouns."""
    runs = [(is_name, len(list(run))) for is_name, run in groupby(tag == "PROPN" for tag in tags)]
    return [
        ("B-NAME" if i == 0 else "I-NAME") if is_name else "O"
        for is_name, n in runs
        for i in range(n)
    ]


def features(words):
    return [
        {
            "word": word.lower(),
            "end": word[-3:].lower(),
            "capital": word[0].isupper(),
            "first": i == 0,
        }
        for i, word in enumerate(words)
    ]


sentences, tags = load_ewt_sample(return_X_y=True)
X, y = [features(words) for words in sentences], [name_labels(each) for each in tags]
X_test, y_test, words = X[200:], y[200:], sentences[200:]

# %%
# The mask allows only labels that follow the scheme. Without transitions, each word is labeled
# separately.

models = {
    "single words": ChainSSVM(transitions=False, boundaries=False, random_state=0),
    "chain": ChainSSVM(transition_mask=bio_transitions, random_state=0),
}
scores, predictions = {}, {}
for name, model in models.items():
    tagger = make_pipeline(SequenceVectorizer(), model).fit(X[:200], y[:200])
    predictions[name] = tagger.predict(X_test)
    scores[name] = span_f1_score(y_test, predictions[name])
    print(f"{name}: F1 of names {scores[name]:.2f}")

# %%
# True names are above the words and predicted ones below; those with an error have a frame.

SpanDisplay.from_predictions(y_test, predictions["chain"], tokens=words, n=5)
plt.show()

# %%
# With 200 sentences, many names are unknown words. :doc:`/tutorials/plot_find_names` adds features
# of the neighbors and exports the model; :doc:`/how_to/embeddings` uses a language model.
