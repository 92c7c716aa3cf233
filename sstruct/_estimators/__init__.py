"""Implementation of the public estimators, with a folder for each structure."""
