"""Who answers: wire formats of providers, the embedded model, known laws."""
