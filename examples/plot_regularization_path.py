"""
How well do a model's weights do at every lambda?
=================================================

How strongly weights are to be regularised is not known beforehand. A regularization path has
weights for every lambda, of which each has a certificate: the objective exceeds its optimum by at
most ``eps``, wherever on the path one looks, between the breakpoints as well.

The chains are calendar dates in handwritten digits, which come with scikit-learn.
"""

import matplotlib.pyplot as plt

from sstruct import ChainSSVM, ssvm_path
from sstruct.datasets import load_digit_dates
from sstruct.plotting import RegularizationPathDisplay

X, y = load_digit_dates(return_X_y=True)
X_train, y_train, X_test, y_test = X[:60], y[:60], X[60:], y[60:]
path = ssvm_path(ChainSSVM(random_state=0), X_train, y_train, eps=0.05)
print(path)

# %%
# Between two breakpoints the weights stay the same: the gap grows until it reaches ``eps``, and the
# solver takes over. Above the first breakpoint one vector, divided by lambda, serves them all.

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(6.4, 6.4))
display = RegularizationPathDisplay.from_path(
    path, train=(X_train, y_train), validation=(X_test, y_test), y="gap", ax=above
)
display.plot(y="score", ax=below)
above.set(xlabel="", title=f"{len(path.lams_)} vectors of weights for all lambda")
figure.tight_layout()
plt.show()

# %%
# The model of any lambda is an estimator like a fitted one.

model = path.estimator(path.lams_[-1])
print(f"lam {model.lam_:.3g}: {model.score(X_test, y_test):.3f} of the digits are right")
