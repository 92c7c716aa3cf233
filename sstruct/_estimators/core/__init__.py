"""The fit, parameters, weights and callbacks that all estimators share."""
