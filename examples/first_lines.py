"""The first lines of README.md, which print what they compute. Used to test an installed wheel."""

from sstruct import ChainSSVM
from sstruct.datasets import load_digit_dates

X, y = load_digit_dates(subset="train", return_X_y=True)
X_new, y_new = load_digit_dates(subset="test", return_X_y=True)

model = ChainSSVM(random_state=0).fit(X, y)
print("first labels:", model.predict(X_new)[0])
print(f"accuracy: {model.score(X_new, y_new):.3f}")
print(f"objective: {model.objective_:.4f}, duality gap: {model.dual_gap_:.1e}")
