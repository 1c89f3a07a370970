from __future__ import annotations

from roost.storage.artifacts import forget_hashed, sha256

ONE = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
TWO = "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"


def test_it_is_the_digest_of_these_bytes_whatever_came_before() -> None:
    one, two = b"one", b"two"
    assert [sha256(one), sha256(one), sha256(two), sha256(one)] == [ONE, ONE, TWO, ONE]
    forget_hashed()
    assert sha256(two) == TWO
    assert sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_bytes_that_can_change_are_hashed_each_time() -> None:
    data = bytearray(b"one")
    assert sha256(data) == ONE
    data[:] = b"two"
    assert sha256(data) == TWO
