"""Problems whose blocks share nodes, with multipliers on the labels of these nodes."""
