"""
Tag the words of a text
=======================

At the end of this page you have a model that marks the phrases of a sentence, know
how good it is and what it has learned, and have it in a file. You need to know
scikit-learn's pipelines and searches, and nothing else. Besides sstruct it takes
two packages: ``pip install matplotlib pandas``.

The task is chunking. Each word gets a tag that begins (B) a phrase,
continues it (I) or is outside (O) of all phrases. A word alone does not
tell: "can" is a noun in "the can" and a verb in "she can paint". So
:class:`~sstruct.ChainSSVM` tags a sentence as a whole.

The sentences come from a small grammar, so that nothing has to be
downloaded. For real ones, :func:`sstruct.datasets.fetch_conll2000`
returns news texts in the same form.
"""

import tempfile
from pathlib import Path

import joblib
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sstruct import ChainSSVM
from sstruct.masks import bio_transitions
from sstruct.metrics import chunk_f1_score, chunk_f1_scorer
from sstruct.plotting import TransitionDisplay
from sstruct.preprocessing import SequenceVectorizer

rng = np.random.default_rng(0)
# Words in capitals stand for a choice; many nouns are verbs or
# adjectives elsewhere.
words = {
    "NOUN": "can paint light watch plan water walk cook boat".split(),
    "VERB": "can paint light watch plan water walk cook see like".split(),
    "ADJECTIVE": "light old calm back clean cook".split(),
    "NAME": "Mary Tom Park Cook London".split(),
}
phrases = {
    "NP": [
        "the NOUN",
        "the ADJECTIVE NOUN",
        "NAME",
        "NAME NAME",
        "she",
        "the NOUN NOUN",
    ],
    "VP": ["VERB", "can VERB", "VERB back", "will VERB", "VERB NOUN"],
    "PP": ["in", "back in", "near", "with"],
}
sentences = [
    "NP VP NP .",
    "NP VP NP PP NP .",
    "PP NP NP VP NP .",
    "NP VP and VP NP .",
    "NP VP PP NP",
]


def make_sentence():
    """Return the words of a sentence and their tags."""
    text, tags = [], []
    for phrase in rng.choice(sentences).split():
        pattern = rng.choice(phrases.get(phrase, [phrase])).split()
        text += [str(rng.choice(words.get(w, [w]))) for w in pattern]
        if phrase in phrases:
            tags += [f"B-{phrase}"] + [f"I-{phrase}"] * (len(pattern) - 1)
        else:
            tags.append("O")
    return text, tags


def show(sentence, tags):
    print(*(f"{word}/{tag}" for word, tag in zip(sentence, tags)))


text, y = zip(*(make_sentence() for _ in range(600)))
show(text[0], y[0])

# %%
# Describe each word by a dict
# ----------------------------
#
# A sentence is a :term:`sample`, a word is a :term:`node` of it.
# Features are a dict for each word, as CRFsuite takes them: a string is
# a category, a number or a bool is a value, and dicts nest.


def features(sentence):
    """Describe each word by itself and by its neighbors."""
    rows = []
    for t, word in enumerate(sentence):
        row = {"word": word.lower(), "capital": word[0].isupper()}
        if t > 0:
            row["before"] = {"word": sentence[t - 1].lower()}
        if t + 1 < len(sentence):
            row["after"] = {"word": sentence[t + 1].lower()}
        rows.append(row)
    return rows


X = [features(sentence) for sentence in text]
X_train, y_train, X_test, y_test = X[:60], y[:60], X[60:], y[60:]
for row in X[0][:2]:
    print(row)

# %%
# Fit a pipeline
# --------------
#
# :class:`~sstruct.preprocessing.SequenceVectorizer` turns the dicts into
# sparse rows. ``transition_mask`` forbids tags that cannot follow each
# other, such as I-NP after O.

tagger = make_pipeline(
    SequenceVectorizer(), ChainSSVM(transition_mask=bio_transitions, random_state=0)
)
tagger.fit(X_train, y_train)
f1 = chunk_f1_score(y_test, tagger.predict(X_test))
print(f"F1 of phrases: {f1:.3f}")

# %%
# A phrase is right if its type and both of its ends are. The tags of a
# new sentence:

new = "she can paint the old boat near London .".split()
show(new, tagger.predict([features(new)])[0])

# %%
# Search for lam
# --------------
#
# :term:`lam` says how strongly the weights are regularized. The default,
# ``"auto"``, follows the scale of the data and is a good start. A grid
# search takes the pipeline like any other; scorers for sequences are in
# :mod:`sstruct.metrics`.

search = GridSearchCV(
    tagger,
    {"chainssvm__lam": ["auto", 1.0, 0.3, 0.1, 0.03, 0.01]},
    scoring=chunk_f1_scorer,
    cv=3,
)
search.fit(X_train, y_train)
print("best lam:", search.best_params_["chainssvm__lam"])
print(f"auto: {tagger[-1].lam_:.3f}")

# %%
# Do the neighboring tags help? Without weights for pairs of tags the model
# decides on each tag separately, though it still sees the neighboring words:

alone = make_pipeline(
    SequenceVectorizer(),
    ChainSSVM(transitions=False, boundaries=False, random_state=0),
).fit(X_train, y_train)
for name, model in {"tags one by one": alone, "sequence": search}.items():
    print(f"{name}: F1 {chunk_f1_score(y_test, model.predict(X_test)):.3f}")

# %%
# See what it has learned
# -----------------------
#
# ``to_frame`` lists all weights with the names of their tags and
# features. These features speak most for the beginning of a verb phrase:

chain = search.best_estimator_[-1]
weights = chain.to_frame()
verbs = weights.query("kind == 'coef' and label == 'B-VP'")
verbs = verbs.nlargest(5, "weight")
print(verbs[["label", "feature", "weight"]].to_string(index=False))

# %%
# Keep the model
# --------------
#
# A fitted pipeline is saved as any of scikit-learn's. It holds weights
# and names, no training data.

with tempfile.TemporaryDirectory() as folder:
    joblib.dump(search.best_estimator_, Path(folder) / "tagger.joblib")
    loaded = joblib.load(Path(folder) / "tagger.joblib")
show(new, loaded.predict([features(new)])[0])

# %%
# Loading such a file runs code from it, so load your own files alone.
# For models that others are to read, write ``.skops`` files:
# :doc:`/how_to/saving`.
#
# The weights of neighboring tags
# --------------------------------

TransitionDisplay.from_estimator(chain)
plt.show()

# %%
# Rows are tags, columns the tags that follow; the row "start" and the
# column "end" are the ends of a sentence. Positive weights (red) make a
# pair likely. Sentences begin with noun phrases (NP) or prepositions
# (PP), and verb phrases (VP) follow noun phrases. Pairs that the mask
# forbids have weight 0, and look like pairs that mean nothing.
#
# Where to go from here: :doc:`/how_to/class_imbalance` if some tags are
# rare, :doc:`/how_to/unknown_labels` if only some words are tagged,
# :doc:`/how_to/from_crfsuite` if you have a model there.
