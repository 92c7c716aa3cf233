"""What the public estimators are made of: one folder a structure."""
