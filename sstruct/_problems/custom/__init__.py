"""Problems of user-defined structures."""
