"""Loops that bring the world to what the records say, each under a lease."""
