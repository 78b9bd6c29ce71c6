"""The thread that works for all requests: its queue, its limits, and requests that run together."""

import asyncio
import threading

from keraszoo.errors import KerasZooError
from keraszoo.serving.worker import Worker


def events_of(worker, *jobs, go_on=None):
    """The events of each job, (work,) or (work, items); `go_on` is set when all are submitted."""

    async def run():
        async def listed(job):
            return [event async for event in worker.events(job)]

        submitted = [worker.submit(*job) for job in jobs]
        if go_on is not None:
            go_on.set()
        return await asyncio.gather(*map(listed, submitted))

    return asyncio.run(run())


def test_work_that_nobody_waits_for_is_given_up():
    go_on, ran = threading.Event(), []

    def slow(progress):
        progress("working")
        go_on.wait(10)
        progress("nobody hears this")
        ran.append("slow")

    worker = Worker(seconds=0.3)
    (events,) = events_of(worker, (slow,))
    assert events == [{"progress": "working"}, {"error": "no answer within 0.3 seconds"}]
    go_on.set()
    worker.seconds = 10
    assert events_of(worker, (lambda progress: 3,))[0][-1] == {"result": 3}
    assert ran == []


def test_requests_that_nobody_waits_for_take_no_place():
    go_on = threading.Event()
    worker = Worker(prepare=lambda: go_on.wait(10), waiting=2)

    async def ask():
        for _ in range(5):
            worker.submit(lambda progress: 1).cancelled = True
        job = worker.submit(lambda progress: 3)
        go_on.set()
        return [event async for event in worker.events(job)]

    assert asyncio.run(ask()) == [{"result": 3}]


class Doubling:
    """Doubles numbers, and keeps the lists that it gets; it begins when it is told to, and refuses 13."""

    def __init__(self):
        self.calls, self.go_on = [], threading.Event()

    def __call__(self, items):
        self.go_on.wait(10)
        self.calls.append(items)
        if 13 in items:
            raise KerasZooError("13 is unlucky")
        return [2 * item for item in items]


def answers_of(work, *requests, **limits):
    """The last event of each request, a list of items; all wait before the work begins."""
    worker = Worker(prepare=lambda: work.go_on.wait(10), **limits)
    events = events_of(worker, *((work, items) for items in requests), go_on=work.go_on)
    return [some[-1] for some in events]


def test_requests_above_the_limit_run_in_the_next_call():
    work = Doubling()
    answers = answers_of(work, [1] * 5, [2] * 3, [3] * 3, together=8)
    assert [len(answer["result"]) for answer in answers] == [5, 3, 3]
    assert work.calls == [[1] * 5 + [2] * 3, [3] * 3]
    work = Doubling()
    answers_of(work, [1], [2] * 9, [3], together=8)  # a request above the limit runs alone
    assert work.calls == [[1, 3], [2] * 9]


def test_a_refused_item_is_an_error_of_its_request_only():
    work = Doubling()
    answers = answers_of(work, [1], [13], [2])
    assert answers == [{"result": [2]}, {"error": "13 is unlucky"}, {"result": [4]}]


def test_other_work_does_not_join():
    first, second = Doubling(), Doubling()
    worker = Worker(prepare=lambda: first.go_on.wait(10))
    second.go_on.set()
    jobs = (first, [0]), (second, [1]), (first, [2]), (lambda progress: 5,)
    events = events_of(worker, *jobs, go_on=first.go_on)
    assert [some[-1]["result"] for some in events] == [[0], [2], [4], 5]
    assert first.calls == [[0, 2]] and second.calls == [[1]]
