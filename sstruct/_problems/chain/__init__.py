"""Problems of chains: labeled sequences."""
