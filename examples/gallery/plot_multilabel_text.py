"""
==================================================
Multilabel classification of text (MultilabelSSVM)
==================================================

Each document has any number of topics. Some topics often occur together, and some exclude each
other: an article on football is also on sport, and rarely on taxes. Documents are short, so
such rules help. The documents are generated: each topic adds words of its own, and half of the
words are shared by all topics.

.. index:: ! multilabel classification, ! text classification
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline

from sstruct import MultilabelSSVM

WORDS = {
    "sport": "team season coach fans",
    "football": "goal pitch keeper penalty",
    "tennis": "serve racket court set",
    "politics": "minister party vote law",
    "election": "poll ballot candidate campaign",
    "taxes": "income rate budget refund",
    "health": "doctor hospital patient clinic",
    "vaccine": "dose virus trial immunity",
}
TOPICS = list(WORDS)
SHARED = "the report says that many people in this country want more time and money".split()
# Sets of topics that occur, and how often.
SETS = {
    "sport football": 4, "sport tennis": 3, "politics election": 4, "politics taxes": 4,
    "health vaccine": 3, "health": 2, "politics health": 1, "politics health vaccine": 1,
}  # fmt: skip
rng = np.random.default_rng(0)


def documents(n):
    """Return texts and, for each text, a row of zeros and ones."""
    chance = np.array(list(SETS.values())) / sum(SETS.values())
    chosen = [text.split() for text in rng.choice(list(SETS), size=n, p=chance)]
    texts = []
    for topics in chosen:
        own = " ".join(WORDS[topic] for topic in topics).split()
        words = [*rng.choice(own, 2), *rng.choice(SHARED, 4)]
        # Some words belong to other topics.
        words += [*rng.choice(" ".join(WORDS.values()).split(), rng.integers(2))]
        texts.append(" ".join(rng.permutation(words)))
    return texts, np.array([[topic in topics for topic in TOPICS] for topics in chosen]).astype(int)


texts, Y = documents(800)
texts_test, Y_test = documents(800)
print(texts[0], "->", *(topic for topic, on in zip(TOPICS, Y[0]) if on))

# %%
# ``edges=None`` trains one model for each topic; ``edges="full"`` adds a weight for each pair.

scores, models = {}, {}
for name, edges in {"independent": None, "pairs": "full"}.items():
    model = make_pipeline(TfidfVectorizer(), MultilabelSSVM(edges=edges, random_state=0))
    models[name] = model.fit(texts, Y)
    Y_pred = model.predict(texts_test)
    scores[name] = f1_score(Y_test, Y_pred, average="micro"), (Y_pred == Y_test).all(axis=1).mean()
    print("{}: micro F1 {:.3f}, all topics right {:.3f}".format(name, *scores[name]))

# %%
# The weights of pairs: topics with positive weights attract each other.

model = models["pairs"][-1]
weights = np.zeros((len(TOPICS), len(TOPICS)))
rows, columns = model.edges_.T
weights[rows, columns] = weights[columns, rows] = model.edge_coef_.ravel()
fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
limit = np.abs(weights).max()
image = ax.imshow(weights, cmap="PuOr", vmin=-limit, vmax=limit)
ax.set_xticks(range(len(TOPICS)), TOPICS, rotation=45, ha="right")
ax.set_yticks(range(len(TOPICS)), TOPICS)
fig.colorbar(image, label="Weight of the pair")
plt.show()

# %%
# A confident prediction of one topic helps with the others. :doc:`/tutorials/plot_label_sets` also
# uses a hierarchy of topics, and :doc:`/how_to/label_sets` has many labels.
