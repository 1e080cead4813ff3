"""The parts of the report, each a pure function from the analysis to blocks, in reading order."""
