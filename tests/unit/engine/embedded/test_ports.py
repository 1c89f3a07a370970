from __future__ import annotations

from pathlib import Path

import pytest

from roost.engine.embedded.ports import BLOCK_SIZE, BLOCKS, FIRST_PORT, PortBlock, claim_block
from roost.errors import EngineStartFailed


def all_ports(block: PortBlock) -> list[int]:
    ports = [block.gcs, block.dashboard, block.serve, *(block.inner(index) for index in range(40))]
    for first, last in (block.replica_http, block.replica_grpc, block.workers):
        ports += range(first, last + 1)
    return ports


def test_no_port_has_two_uses_and_none_leaves_the_block() -> None:
    ports = all_ports(PortBlock(20_000))
    assert len(ports) == len(set(ports))
    assert (min(ports), max(ports)) == (20_000, 20_499)


def test_an_inner_port_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="index=40"):
        PortBlock(20_000).inner(40)


def test_all_blocks_are_below_the_ports_of_outgoing_connections() -> None:
    assert FIRST_PORT + BLOCKS * BLOCK_SIZE - 1 < 32_768


def test_a_home_gets_the_same_block_again() -> None:
    first = claim_block(Path("/some/home"), listening=())
    first.release()
    again = claim_block(Path("/some/home"), listening=())
    again.release()
    assert again.block == first.block


def test_two_at_once_never_share_a_block() -> None:
    one = claim_block(Path("/some/home"), listening=())
    two = claim_block(Path("/some/home"), listening=())
    assert one.block != two.block
    one.release()
    two.release()


def test_a_block_with_a_listener_is_left_alone() -> None:
    free = claim_block(Path("/some/home"), listening=())
    free.release()
    other = claim_block(Path("/some/home"), listening={free.block.base + 499})
    other.release()
    assert other.block != free.block


def test_no_free_block_is_said() -> None:
    used = range(FIRST_PORT, FIRST_PORT + BLOCKS * BLOCK_SIZE, BLOCK_SIZE)
    with pytest.raises(EngineStartFailed, match="25 blocks of 500 ports from 20000"):
        claim_block(Path("/some/home"), listening=used)
