"""`python -m roost.cli`."""

from roost.cli.entry import run

run()
