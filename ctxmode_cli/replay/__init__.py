"""One conversation in, rows out; rows add up to results."""
