"""Makes what all tests share importable: this folder is on the path."""
