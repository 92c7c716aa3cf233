"""Maximum flow and minimum cuts."""
