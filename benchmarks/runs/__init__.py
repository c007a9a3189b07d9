"""What measures: one command in each module."""
