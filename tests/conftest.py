"""What tests of several kinds share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from roost.testing.postgres import PostgresServer, find_programs

# No test asserts how long something took: the machine may be busy with others' work.
settings.register_profile("roost", deadline=None)
settings.load_profile("roost")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL of this test session."""
    pytest.importorskip("psycopg")
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: `make setup` as root, or apt-get install postgresql-15")
    server = PostgresServer(programs)
    try:
        yield server.start()
    finally:
        server.stop()
