"""Alembic's migrations of the records."""
