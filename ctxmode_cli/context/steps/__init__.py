"""What refines a context after a mode has decided."""
