"""Slack rescaling for any problem."""
