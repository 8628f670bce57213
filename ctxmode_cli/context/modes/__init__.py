"""The context modes, one file each, named by the word the user types."""
