"""Summarizers: what turns the older part of a conversation into a few lines."""
