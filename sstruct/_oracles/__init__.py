"""Decoders: functions of potentials alone, one folder a structure."""
