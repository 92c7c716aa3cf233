"""Tests with hostile values, files and models, in child processes with limits.

``python -m tests.hostile --help`` describes how to run them. ``values`` damages arguments,
``judge`` decides which outcomes are findings, ``certificates`` recomputes objectives, ``runner``
runs cases in processes, and each domain (``DOMAINS`` in ``domains``) has a module with a function
``attack``.
"""
