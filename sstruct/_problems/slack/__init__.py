"""Slack rescaling of any problem."""
