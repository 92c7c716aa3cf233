"""Block-coordinate Frank-Wolfe and its multi-plane variant."""
