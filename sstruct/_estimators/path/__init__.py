"""Many values of lambda in one sweep."""
