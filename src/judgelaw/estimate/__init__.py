"""Point estimates of call, prompt, order and interaction components, raw and unclipped."""
