"""Data and joint feature maps behind `BlockProblem`, with one folder per structure."""
