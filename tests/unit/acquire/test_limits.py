"""One timer for a whole lane does what a timer for each attempt would."""

import asyncio

import pytest

from judgelaw.acquire.limits import Deadlines


async def answer(after, value="done"):
    await asyncio.sleep(after)
    return value


def test_work_in_time_is_returned_and_late_work_is_not():
    async def main():
        deadlines = Deadlines(0.05)
        quick = [deadlines.keep(answer(0.001 * n, n)) for n in range(10)]
        late = [deadlines.keep(answer(5)) for _ in range(3)]
        return await asyncio.gather(*quick, *late, return_exceptions=True)

    *quick, a, b, c = asyncio.run(main())
    assert quick == list(range(10))
    assert all(type(error) is TimeoutError for error in (a, b, c))


def test_each_deadline_is_its_own():
    async def main():
        loop = asyncio.get_running_loop()
        deadlines = Deadlines(0.1)
        ends = []

        async def late(start):
            await asyncio.sleep(start)
            began = loop.time()
            with pytest.raises(TimeoutError):
                await deadlines.keep(answer(5))
            ends.append(loop.time() - began)

        await asyncio.gather(late(0), late(0.05), late(0.12), late(0.5))
        return ends

    assert all(0.09 < lasted < 0.4 for lasted in asyncio.run(main()))


def test_a_cancellation_from_outside_is_no_timeout():
    async def main():
        task = asyncio.create_task(Deadlines(60).keep(answer(60)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_cancellation_beside_a_timeout_stays_a_cancellation():
    async def main():
        task = asyncio.create_task(Deadlines(0.01).keep(answer(60)))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(0.01, task.cancel)
        with pytest.raises((asyncio.CancelledError, TimeoutError)):
            await task
        both = asyncio.create_task(Deadlines(0.0).keep(answer(60)))
        await asyncio.sleep(0)
        both.cancel()
        with pytest.raises(asyncio.CancelledError):
            await both

    asyncio.run(main())


def test_what_the_work_raises_comes_through():
    async def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(Deadlines(60).keep(fail()))


def test_an_idle_lane_keeps_no_timer():
    async def main():
        deadlines = Deadlines(0.02)
        await deadlines.keep(answer(0))
        await asyncio.sleep(0.05)
        assert deadlines._timer is None
        assert await deadlines.keep(answer(0)) == "done"

    asyncio.run(main())
