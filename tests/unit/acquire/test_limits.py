"""One timer for a whole lane does what a timer for each attempt would."""

import asyncio
import time

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


def test_time_in_which_the_loop_did_not_run_does_not_count():
    """What arrived meanwhile is read first; what has not, still has its time."""

    async def main():
        loop = asyncio.get_running_loop()
        deadlines = Deadlines(0.4)
        came = loop.create_future()
        loop.call_later(0.1, came.set_result, "in a socket")
        first = asyncio.create_task(deadlines.keep(came))
        second = asyncio.create_task(deadlines.keep(answer(1.2)))
        never = asyncio.create_task(deadlines.keep(answer(60)))
        await asyncio.sleep(0.01)
        time.sleep(1.0)  # noqa: ASYNC251 - a lid that is closed
        assert await first == "in a socket"
        assert await second == "done"
        began = loop.time()
        with pytest.raises(TimeoutError):
            await never
        return loop.time() - began

    assert asyncio.run(main()) < 0.8, "its own time goes on"


def test_work_that_stands_still_for_others_is_given_that_time():
    async def main():
        deadlines = Deadlines(0.1)
        held = iter([0.1, 0.2, 0.2, 0.2, 0.2])
        assert await deadlines.keep(answer(0.2), lambda: next(held, 0.2)) == "done"
        with pytest.raises(TimeoutError):
            await deadlines.keep(answer(5), lambda: 0.2)

    asyncio.run(main())
