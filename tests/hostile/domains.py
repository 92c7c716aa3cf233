"""The attacks by the names of their domains."""

from tests.hostile import estimators

DOMAINS = {"estimators": estimators.attack}
