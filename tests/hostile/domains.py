"""The attacks by the names of their domains."""

from tests.hostile import checkpoints, estimators, files, functions, models

MODULES = (estimators, functions, files, checkpoints, models)
DOMAINS = {module.__name__.rpartition(".")[2]: module.attack for module in MODULES}
