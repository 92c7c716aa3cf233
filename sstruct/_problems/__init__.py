"""Data and joint feature maps behind `BlockProblem`, one folder a structure."""
