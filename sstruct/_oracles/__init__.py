"""Decoders: functions of potentials only, with a folder for each structure."""
