"""Predict the progression of diabetes in five grades."""

import numpy as np
from ordinal import OrdinalSSVM
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_predict

from sstruct import MulticlassSSVM


def main():
    X, progression = load_diabetes(return_X_y=True, scaled=False)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.searchsorted(np.quantile(progression, [0.2, 0.4, 0.6, 0.8]), progression)
    for model in (OrdinalSSVM(random_state=0), MulticlassSSVM(random_state=0)):
        error = np.abs(cross_val_predict(model, X, y, cv=5) - y).mean()
        print(f"{type(model).__name__}: mean absolute error {error:.2f}")


if __name__ == "__main__":
    main()
