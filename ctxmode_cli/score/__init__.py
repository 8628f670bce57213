"""What survives: whether the facts are in what would be sent."""
