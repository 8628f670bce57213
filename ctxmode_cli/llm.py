"""One OpenAI-compatible client with a response cache."""
