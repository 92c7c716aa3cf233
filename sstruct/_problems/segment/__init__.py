"""Problems of sequences of segments."""
