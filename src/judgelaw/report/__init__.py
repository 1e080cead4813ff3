"""What people look at: figures, the HTML report, tables for a paper."""
