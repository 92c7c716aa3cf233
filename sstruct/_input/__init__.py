"""Checks of users' input, and labels to integers and back."""
