"""Charts, drawn once and used everywhere: in the page, in a notebook, in a paper."""
