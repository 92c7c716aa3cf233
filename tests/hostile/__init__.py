"""Attackers: hostile values, files and models, in child processes with limits of time and memory.

``python -m tests.hostile --help`` says how to run them. ``values`` damages what a user gives,
``judge`` says what may come of it, ``certificates`` recomputes objectives, ``runner`` runs cases in
processes, and each domain (``DOMAINS`` in ``domains``) has a module with a function ``attack``.
"""
