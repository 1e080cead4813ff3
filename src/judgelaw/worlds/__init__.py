"""Known laws: cells whose verdict probabilities are declared, so the truth can be computed."""
