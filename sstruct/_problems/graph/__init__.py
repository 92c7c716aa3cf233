"""Problems of graphs and grids."""
