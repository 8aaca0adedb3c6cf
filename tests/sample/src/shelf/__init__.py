"""Keeps a list of lent books."""
