"""Problems of trees of body parts."""
