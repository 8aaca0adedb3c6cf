"""A turn's journal: what each node changed, and the state at any boundary read back from it."""
