"""One file a provider: each offers its providers as `PROVIDERS`, and is listed nowhere else."""
