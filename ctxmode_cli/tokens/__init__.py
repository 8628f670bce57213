"""How long it is: exact token counts bound to a model, offline, and the check that they are exact."""
