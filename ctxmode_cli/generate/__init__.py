"""Labelled sessions from a seed; the grammars are data."""
