"""Problems of labeled sequences."""
