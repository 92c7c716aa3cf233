"""The interface of problems, and what all of them share."""
