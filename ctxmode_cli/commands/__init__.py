"""The command line: one file a command that parses, wires, prints and exits."""
