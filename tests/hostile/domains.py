"""Attacks by the names of their domains."""

from tests.hostile import checkpoints, estimators, files, functions, latent, models, stored

MODULES = (estimators, functions, files, checkpoints, models, stored, latent)
DOMAINS = {module.__name__.rpartition(".")[2]: module.attack for module in MODULES}
