"""What a study declares, and the manifest that freezes it before the first request."""
