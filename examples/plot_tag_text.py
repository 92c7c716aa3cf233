"""
How do I tag the words of a text?
=================================

Chunking marks the phrases of a sentence: each word gets a tag that begins (B), continues (I) or is
outside (O) a phrase. A word alone does not tell: "can" is a noun in "the can" and a verb in "she
can paint". This tutorial goes from sentences to a saved model: features as dicts, a pipeline, a
search over ``lam``, the score of whole phrases, and what the model has learned.

The sentences come from a small grammar, so that nothing has to be downloaded. For the real task,
:func:`sstruct.datasets.fetch_conll2000` returns its sentences in the same form.
"""

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
# Words in capitals stand for a choice; many nouns are verbs or adjectives elsewhere.
words = {
    "NOUN": "can paint light watch plan water walk cook park boat house garden".split(),
    "VERB": "can paint light watch plan water walk cook see like".split(),
    "ADJECTIVE": "light old calm back clean cook".split(),
    "NAME": "Mary Tom Park Cook London".split(),
}
phrases = {
    "NP": ["the NOUN", "the ADJECTIVE NOUN", "NAME", "NAME NAME", "she", "the NOUN NOUN"],
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
        text += [rng.choice(words.get(word, [word])) for word in pattern]
        if phrase in phrases:
            tags += [f"B-{phrase}"] + [f"I-{phrase}"] * (len(pattern) - 1)
        else:
            tags.append("O")
    return text, tags


text, y = zip(*(make_sentence() for _ in range(600)))
print(*(f"{word}/{tag}" for word, tag in zip(text[0], y[0])))

# %%
# Features are a dict for each word, as CRFsuite takes them. A string is a category, a number or a
# bool is a value, and dicts nest.


def features(sentence):
    """Describe each word by itself and by its neighbours."""
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

# %%
# The vectorizer turns dicts into sparse rows. ``transition_mask`` forbids tags that cannot follow
# each other, such as I-NP after O. The default ``lam`` is a good start; a grid search takes a
# pipeline like any other.

tagger = make_pipeline(
    SequenceVectorizer(), ChainSSVM(transition_mask=bio_transitions, random_state=0)
)
search = GridSearchCV(
    tagger, {"chainssvm__lam": ["auto", 1.0, 0.3, 0.1, 0.03, 0.01]}, scoring=chunk_f1_scorer, cv=3
)
search.fit(X_train, y_train)
print("best lam:", search.best_params_["chainssvm__lam"])

# %%
# A phrase is right if its type and both ends are. Without the weights of neighbouring tags, each
# word is tagged by its own features.

alone = make_pipeline(
    SequenceVectorizer(), ChainSSVM(transitions=False, boundaries=False, random_state=0)
).fit(X_train, y_train)
for name, model in {"each word alone": alone, "sequence": search}.items():
    print(f"{name}: F1 of phrases {chunk_f1_score(y_test, model.predict(X_test)):.3f}")

# %%
# ``to_frame`` lists all weights with their names. These features speak most for a verb:

weights = search.best_estimator_[-1].to_frame()
print(
    weights.query("kind == 'coef' and label == 'B-VP'").nlargest(5, "weight").to_string(index=False)
)

# %%
# And these are the weights of neighbouring tags. Pairs that the mask forbids keep weight 0.

TransitionDisplay.from_estimator(search.best_estimator_[-1])
plt.show()

# %%
# Sentences begin with noun phrases (NP) or prepositions (PP), and verb phrases (VP) follow noun
# phrases. To keep the model, write it with `skops <https://skops.readthedocs.io>`_, whose files can
# be read without running code from them::
#
#     import skops.io
#
#     skops.io.dump(search.best_estimator_, "tagger.skops")
#     unknown = skops.io.get_untrusted_types(file="tagger.skops")  # look at these before you go on
#     tagger = skops.io.load("tagger.skops", trusted=unknown)
