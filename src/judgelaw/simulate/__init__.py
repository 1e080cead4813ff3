"""Known-law studies of the estimators, and the published simulations regenerated."""
