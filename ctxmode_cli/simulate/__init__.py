"""What a finished context would cost and how long it would take: prices, prompt cache, latency; rules and profiles are data."""
