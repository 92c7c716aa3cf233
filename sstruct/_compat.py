"""Every private name of scikit-learn, and what differs between its versions, in one place.

Nothing private is needed today: scikit-learn 1.6 made ``validate_data`` public.
"""

from sklearn.utils.validation import validate_data

__all__ = ["validate_data"]
