"""Attackers: hostile values, files and models, in child processes with limits of time and memory.

``python -m tests.hostile --help`` describes how to run them. ``values`` damages arguments,
``judge`` decides which outcomes are findings, ``certificates`` recomputes objectives, ``runner``
runs cases in processes, and each domain (``DOMAINS`` in ``domains``) has a module with a function
``attack``.
"""
