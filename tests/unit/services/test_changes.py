from __future__ import annotations

import asyncio
import threading

from roost.services.changes import Changes


def test_version_counts_changes() -> None:
    changes = Changes()
    assert changes.version == 0
    changes.notify()
    changes.notify()
    assert changes.version == 2


def test_a_change_before_the_wait_is_not_lost() -> None:
    changes = Changes()
    seen = changes.version
    changes.notify()
    assert asyncio.run(changes.wait(seen, timeout_s=60)) == 1
    assert changes.wait_blocking(seen, timeout_s=60) == 1


def test_wait_without_time_returns_at_once() -> None:
    changes = Changes()
    assert asyncio.run(changes.wait(0, timeout_s=0)) == 0
    assert asyncio.run(changes.wait(0, timeout_s=0.01)) == 0
    assert changes.wait_blocking(0, timeout_s=0) == 0
    assert changes.wait_blocking(0, timeout_s=-1) == 0


def test_another_thread_wakes_every_coroutine_and_thread() -> None:
    changes = Changes()
    versions: list[int] = []
    blocked = threading.Thread(target=lambda: versions.append(changes.wait_blocking(0, timeout_s=60)))
    blocked.start()

    async def wait_for_two() -> list[int]:
        waiting = [asyncio.create_task(changes.wait(0, timeout_s=60)) for _ in range(2)]
        await asyncio.sleep(0)  # both are registered now
        await asyncio.to_thread(changes.notify)
        return await asyncio.gather(*waiting)

    assert asyncio.run(wait_for_two()) == [1, 1]
    blocked.join(timeout=60)
    assert versions == [1]


def test_waiters_of_two_loops_are_woken() -> None:
    changes = Changes()
    registered = threading.Barrier(3, timeout=60)
    versions: list[int] = []

    async def wait() -> None:
        task = asyncio.create_task(changes.wait(0, timeout_s=60))
        await asyncio.sleep(0)
        await asyncio.to_thread(registered.wait)
        versions.append(await task)

    threads = [threading.Thread(target=lambda: asyncio.run(wait())) for _ in range(2)]
    for thread in threads:
        thread.start()
    registered.wait()
    changes.notify()
    for thread in threads:
        thread.join(timeout=60)
    assert versions == [1, 1]


def test_a_waiter_that_left_is_forgotten() -> None:
    changes = Changes()

    async def leave() -> None:
        task = asyncio.create_task(changes.wait(0, timeout_s=60))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(leave())
    assert changes._waiters == set()
    changes.notify()  # the loop is closed; nothing breaks


def test_close_lets_everyone_go() -> None:
    changes = Changes()

    async def wait() -> int:
        task = asyncio.create_task(changes.wait(0, timeout_s=60))
        await asyncio.sleep(0)
        changes.close()
        return await task

    assert asyncio.run(wait()) == 0
    assert changes.closed
    assert asyncio.run(changes.wait(0, timeout_s=60)) == 0
    assert changes.wait_blocking(0, timeout_s=60) == 0
    assert asyncio.run(changes.read_until(lambda: "old", lambda _: False, timeout_s=60)) == "old"


def test_read_until_reads_once_a_change_and_no_more() -> None:
    changes = Changes()
    reads: list[int] = []

    def read() -> int:
        reads.append(changes.version)
        if len(reads) < 3:
            changes.notify()  # as another thread would, after this read
        return len(reads)

    value = asyncio.run(changes.read_until(read, lambda count: count == 3, timeout_s=60, recheck_s=60))
    assert value == 3
    assert reads == [0, 1, 2]


def test_read_until_gives_the_last_value_when_time_is_up() -> None:
    changes = Changes()
    assert asyncio.run(changes.read_until(lambda: 7, lambda _: False, timeout_s=0)) == 7


def test_read_until_sees_what_another_server_wrote() -> None:
    changes = Changes()
    values = iter(["old", "old", "new"])
    value = asyncio.run(
        changes.read_until(lambda: next(values), lambda v: v == "new", timeout_s=60, recheck_s=0.001)
    )
    assert value == "new"


def test_read_until_passes_errors_on() -> None:
    async def run() -> str:
        def read() -> int:
            raise LookupError("gone")

        try:
            await Changes().read_until(read, lambda _: True, timeout_s=60)
        except LookupError as error:
            return str(error)
        return ""

    assert asyncio.run(run()) == "gone"


def test_who_follows_first_has_heard_before_anybody_is_woken() -> None:
    changes = Changes()
    heard: list[int] = []
    changes.first(lambda: heard.append(changes.version))
    changes.notify()
    changes.notify()
    assert (heard, changes.version) == ([0, 1], 2)
