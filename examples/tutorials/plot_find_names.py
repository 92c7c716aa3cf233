"""
Find the names in a text
========================

This tutorial goes from sentences to a tagger: features of words, a model of
whole sentences, scores, a table of errors, and an exported model. It assumes
that you know pipelines of scikit-learn. In addition to sstruct, it requires
matplotlib.

The data are 300 sentences of the English Web Treebank, which are part of the
package. The words of names have the tag PROPN there. A name is a maximal run
of such words, without a type such as person or place; see
:doc:`/how_to/named_entities` for several types.
"""

import json
import tempfile
from itertools import groupby
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline

from sstruct import ChainSSVM
from sstruct.datasets import load_ewt_sample
from sstruct.export import export_model
from sstruct.masks import bio_transitions
from sstruct.metrics import span_confusions, span_f1_score
from sstruct.plotting import SpanDisplay
from sstruct.preprocessing import SequenceVectorizer

# %%
# Label the names
# ---------------
#
# In the scheme BIO, the first word of a name has the label B-NAME, its other
# words I-NAME, and all other words O.


def name_labels(tags):
    labels = []
    for is_name, run in groupby(tag == "PROPN" for tag in tags):
        n = len(list(run))
        labels += ["B-NAME"] + ["I-NAME"] * (n - 1) if is_name else ["O"] * n
    return labels


words, tags = load_ewt_sample(return_X_y=True)
y = [name_labels(each) for each in tags]
print(*(f"{word}/{label}" for word, label in zip(words[0], y[0])))

# %%
# Train a model of whole sentences
# --------------------------------
#
# The features of a word are a dict. :class:`~sstruct.ChainSSVM` learns weights
# of features and of pairs of neighboring labels. The mask forbids pairs that
# are not part of the scheme, such as O before I-NAME.


def features(sentence):
    rows = [
        {
            "word": word.lower(),
            "end": word[-3:].lower(),
            "capital": word[0].isupper(),
        }
        for word in sentence
    ]
    before, after = [{"border": True}, *rows], [*rows[1:], {"border": True}]
    return [
        row | {"before": left, "after": right}
        for left, row, right in zip(before, rows, after)
    ]


X = [features(sentence) for sentence in words]
tagger = make_pipeline(
    SequenceVectorizer(), ChainSSVM(transition_mask=bio_transitions, random_state=0)
)
tagger.fit(X[:200], y[:200])
y_pred = tagger.predict(X[200:])
print(f"F1 of names: {span_f1_score(y[200:], y_pred):.2f}")

# %%
# Look at the errors
# ------------------
#
# A name is correct if both of its ends are correct. The most frequent errors:

for row in span_confusions(y[200:], y_pred, tokens=words[200:]):
    print(row["error"], row["count"], row["examples"][0])

# %%
# The true names are above the words, and the predicted ones below. Names with
# an error have a frame.

SpanDisplay.from_predictions(y[200:], y_pred, tokens=words[200:], n=6)
plt.show()

# %%
# Export the model
# ----------------
#
# The file contains weights and names, and can be read in a browser, in C and
# in other programs; see :doc:`/how_to/browser`.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tagger.json"
    export_model(tagger, path)
    print(
        path.stat().st_size // 1000, "kB,", json.loads(path.read_text())["classes"]
    )

# %%
# The next tutorial, :doc:`plot_tag_text`, has several types of phrases, a search
# over the regularization, and the weights of the model.
