"""Fuzz tests with invalid values, files and models, in child processes with limits.

``python -m tests.hostile --help`` describes how to run them. ``values`` corrupts arguments,
``judge`` decides which outcomes are findings, ``certificates`` recomputes objectives, ``runner``
runs cases in processes, and each domain (``DOMAINS`` in ``domains``) has a module with a function
``attack``.
"""
