"""`python -m roost.cli`."""

from roost.cli.main import run

run()
