"""What stands for a tool output that is not sent in full: an outline within a limit, one line, a reference to a file.

Pure functions of text; which output is shortened, and when, is decided elsewhere.
"""
