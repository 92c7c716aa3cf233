"""
==============================================================================
How many projections are needed to reconstruct an image? (discrete_tomography)
==============================================================================

The input is the sums of an image with three gray levels (a simplified Shepp-Logan phantom) along
parallel rays. From two, four and six directions, we reconstruct an image with these sums in which
neighboring pixels differ little. The lower bound is a bound on the smallest possible difference. If
no image with all of the sums is found, the result is the closest image found.
"""

import matplotlib.pyplot as plt
import numpy as np

from sstruct.inference import discrete_tomography, projection_rays

# Ellipses: center, semi-axes, angle in degrees, gray level. Later ones cover earlier ones.
ellipses = [
    (0.0, 0.0, 0.7, 0.9, 0, 2),
    (0.0, 0.0, 0.6, 0.8, 0, 1),
    (0.25, -0.1, 0.15, 0.3, -18, 0),
    (-0.25, -0.1, 0.2, 0.4, 18, 0),
    (0.0, 0.4, 0.22, 0.2, 0, 2),
]
y, x = (np.mgrid[:32, :32] + 0.5) / 16 - 1
phantom = np.zeros((32, 32), dtype=int)
for cx, cy, a, b, degrees, level in ellipses:
    t = np.deg2rad(degrees)
    along = (x - cx) * np.cos(t) + (y - cy) * np.sin(t)
    across = -(x - cx) * np.sin(t) + (y - cy) * np.cos(t)
    phantom[(along / a) ** 2 + (across / b) ** 2 <= 1] = level

# %%
# The only input is the sums: 64 numbers for two directions, 264 for six.

results = {}
for n in (2, 4, 6):
    rays = projection_rays(phantom.shape, 180 / n * np.arange(n))
    sums = [phantom.ravel()[ray].sum() for ray in rays]
    results[n] = discrete_tomography(
        sums, rays, phantom.shape, n_levels=3, max_iter=100, random_state=0
    )

# %%

figure, axes = plt.subplots(1, 4, figsize=(11, 3.6), layout="constrained")
for ax in axes:
    ax.set_axis_off()
axes[0].imshow(phantom, cmap="gray")
axes[0].set_title("phantom")
for ax, (n, result) in zip(axes[1:], results.items(), strict=True):
    ax.imshow(result.labels, cmap="gray")
    n_wrong = int((result.labels != phantom).sum())
    difference = f"difference {result.energy:.0f}" if np.isfinite(result.energy) else "sums not met"
    ax.set_title(
        f"{n} directions\n{n_wrong} of {phantom.size} pixels wrong\n"
        f"{difference}, at least {result.lower_bound:.0f}",
        fontsize=10,
    )
plt.show()

# %%
# Six directions are enough: the image is reconstructed exactly, and the bound is close to its
# difference. Two directions are not: a smoother image has the same sums.
