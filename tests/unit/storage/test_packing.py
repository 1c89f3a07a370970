from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.storage.manifest import CHUNK_SIZE
from roost.storage.packing import SMALL_FILE, Run, lay_out


def test_a_large_file_is_cut_and_empty_ones_have_no_chunk() -> None:
    assert list(lay_out({"empty": 0, "model.bin": 2 * CHUNK_SIZE + 5})) == [
        (Run("model.bin", 0, CHUNK_SIZE),),
        (Run("model.bin", CHUNK_SIZE, CHUNK_SIZE),),
        (Run("model.bin", 2 * CHUNK_SIZE, 5),),
    ]


def test_small_files_share_chunks() -> None:
    chunks = list(lay_out({f"part-{n:04d}": 100_000 for n in range(2000)}))
    assert len(chunks) <= 80
    assert sum(len(runs) for runs in chunks) == 2000


def test_a_file_that_is_not_small_has_chunks_of_its_own() -> None:
    assert list(lay_out({"a": 7, "b": SMALL_FILE, "c": 8})) == [
        (Run("b", 0, SMALL_FILE),),
        (Run("a", 0, 7), Run("c", 0, 8)),
    ]


def test_a_small_file_that_grows_changes_few_chunks() -> None:
    sizes = {f"part-{n:04d}": 100_000 for n in range(2000)}
    before = set(lay_out(sizes))
    after = set(lay_out(sizes | {"part-1000": 900_000}))
    assert 1 <= len(after - before) <= 4


_sizes = st.integers(0, 3) | st.integers(SMALL_FILE - 2, SMALL_FILE + 2) | st.integers(0, 3 * CHUNK_SIZE)


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(st.text(min_size=1, max_size=3), _sizes, max_size=40), st.randoms(use_true_random=False)
)
def test_every_byte_is_in_one_chunk_whatever_the_order(sizes: dict[str, int], order: random.Random) -> None:
    chunks = list(lay_out(sizes))
    assert all(0 < sum(run.size for run in runs) <= CHUNK_SIZE for runs in chunks)
    reached = dict.fromkeys(sizes, 0)
    for run in (run for runs in chunks for run in runs):
        assert run.offset == reached[run.path]
        reached[run.path] += run.size
    assert reached == sizes
    shuffled = list(sizes.items())
    order.shuffle(shuffled)
    assert set(lay_out(dict(shuffled))) == set(chunks)
