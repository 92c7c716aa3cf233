"""
=================================================
Do the neighbors help to cut a flower out?
=================================================

A photograph is buried in noise, and each pixel is to be told figure from ground: once from its own
color alone, and once by a model that also learns how much neighbors agree, the more so where the
noisy colors agree (a graph cut decides, exactly). Both learn from the left half of the picture
and are shown the right one.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import binary_fill_holes, gaussian_filter
from sklearn.datasets import load_sample_image

from sstruct import GridCRFSSVM
from sstruct.plotting import SegmentationDisplay

clean = load_sample_image("flower.jpg")[::4, ::4] / 255.0
# The flowers are where the clean picture has more red than blue.
truth = binary_fill_holes(gaussian_filter(clean[..., 0] - clean[..., 2], 1) > 0.15).astype(int)

noisy = clean + np.random.default_rng(0).normal(scale=1.0, size=clean.shape)
# Color, and what it is in a small window.
features = np.concatenate([noisy, gaussian_filter(noisy, (1, 1, 0))], axis=-1)

middle = clean.shape[1] // 2
left, right = np.s_[:, :middle], np.s_[:, middle:]

# %%
# The same loss and the same optimizer, without and with neighbors.

predictions = {}
for name, pairwise in {"alone": 0.0, "neighbors": "contrast"}.items():
    model = GridCRFSSVM(pairwise=pairwise, lam=3, random_state=0)
    model.fit([features[left]], [truth[left]])
    predictions[name] = model.predict([features[right]])[0]

# %%

shown = np.clip(noisy[right], 0, 1)
SegmentationDisplay.from_predictions(truth[right], predictions, image=shown, classes=[0, 1])
plt.show()

# %%
# Yellow is flower. Neighbors mend most of what a pixel alone gets wrong. What they lose is small:
# a bud at the lower edge is smoothed away.
