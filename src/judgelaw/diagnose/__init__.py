"""What could be wrong with the calls: drift, replay, dependence, sensitivity."""
