"""The interface of problems, and code that all problems share."""
