"""The sections of a report, a file for each subject; each file offers its own under `SECTIONS`."""
