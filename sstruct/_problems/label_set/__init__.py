"""Problems of label sets and of single labels."""
