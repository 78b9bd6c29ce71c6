"""One thread that runs the work of all requests, behind a bounded queue, and those for one model together."""

import asyncio
import collections
import contextlib
import threading
import time
import traceback

from keraszoo.errors import KerasZooError
from keraszoo.messages import say

WAITING = 16  # requests that may wait
TOGETHER = 128  # items of several requests that run together; a larger request runs alone
SECONDS = 300  # until a request is given up


class Cancelled(Exception):
    """Nobody waits for the result of a job any more."""


class Job:
    """The work of one request, whose result is sent as events to the event loop that made the job.

    Args:
        work: a function of `progress`, which takes a str and may raise `Cancelled`; or, with `items`, of a
            list, which returns a list of as many results.
        items: a list. Jobs with equal `work` may then run together, by one call with the items of all.

    Attributes:
        status: the HTTP status of an error: 400, 500, or 503 if the answer takes too long.
    """

    def __init__(self, work, items=None):
        self.work = work
        self.items = items
        self.cancelled = False
        self.events = asyncio.Queue()
        self.status = 400
        self._loop = asyncio.get_running_loop()

    def joins(self, other):
        """Whether two jobs may run together."""
        return self.items is not None and other.items is not None and self.work == other.work

    def run(self):
        """Runs the work in the thread of the worker; reports the result or one line about an error."""
        try:
            if not self.cancelled:
                self.tell(result=self.work(self.progress if self.items is None else self.items))
        except Cancelled:
            pass
        except Exception as error:  # a bug must not end the thread
            self.fail(error)

    def fail(self, error):
        """Reports an exception as one line; prints the traceback of one that no input should cause."""
        if isinstance(error, (KerasZooError, OSError)):
            self.status = 400 if isinstance(error, KerasZooError) else 500
            self.tell(error=" ".join(str(error).split()))
        else:
            self.status = 500
            traceback.print_exception(error)
            self.tell(error=f"internal error: {type(error).__name__}; the terminal shows more")

    def progress(self, text):
        """Reports what the work does now. Raises `Cancelled` if nobody waits for the result."""
        if self.cancelled:
            raise Cancelled
        self.tell(progress=text)

    def tell(self, **event):
        """Sends an event to the request, from any thread."""
        try:
            self._loop.call_soon_threadsafe(self.events.put_nowait, event)
        except RuntimeError:  # the server has stopped
            self.cancelled = True


class Worker:
    """Runs jobs in one thread.

    Args:
        prepare: a function that the thread calls first.
        waiting: requests that may wait; the next one is refused.
        seconds: until a request gets an error instead of an answer.
        together: items of several requests that may run in one call.
    """

    def __init__(self, prepare=None, waiting=WAITING, seconds=SECONDS, together=TOGETHER):
        self.seconds, self.together = seconds, together
        self._most = waiting
        self._jobs, self._changed = collections.deque(), threading.Condition()
        threading.Thread(target=self._run, args=(prepare,), daemon=True).start()

    @property
    def waiting(self):
        """The number of requests that wait and whose clients do, too."""
        with self._changed:
            return sum(not job.cancelled for job in self._jobs)

    def submit(self, work, items=None):
        """Puts a `Job` into the queue and returns it. Raises KerasZooError if the queue is full."""
        before = self.waiting
        if before >= self._most:
            raise KerasZooError(f"{before} requests are waiting already; try again later")
        job = Job(work, items)
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()
        if before:
            job.tell(progress=f"waiting for {before} other requests")
        return job

    async def events(self, job):
        """Yields the events of a job: any number of `progress`, then one `result` or `error`."""
        until = time.monotonic() + self.seconds
        try:
            while True:
                event = await asyncio.wait_for(job.events.get(), until - time.monotonic())
                yield event
                if "progress" not in event:
                    return
        except TimeoutError:
            job.status = 503
            yield {"error": f"no answer within {self.seconds} seconds"}
        finally:
            job.cancelled = True

    # --- in the thread

    def _run(self, prepare):
        try:
            if prepare is not None:
                prepare()
        except KerasZooError as error:  # comes again when a model is loaded
            say(f"error: {error}")
        while True:
            run_together(self._next())

    def _next(self):
        """Waits for a job; returns it, and those in the queue that may run together with it."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs)
            first, *others = [job for job in self._jobs if not job.cancelled] or [self._jobs[0]]
            chosen, count = [first], len(first.items or ())
            for job in others:
                if job.joins(first) and count + len(job.items) <= self.together:
                    chosen.append(job)
                    count += len(job.items)
            self._jobs = collections.deque(job for job in others if job not in chosen)
        return chosen


def run_together(jobs):
    """Runs jobs with equal work by one call; if that fails, each by itself: only its cause gets an error."""
    results = None
    if len(jobs) > 1:
        with contextlib.suppress(Exception):  # the job that causes it raises it again
            results = jobs[0].work([item for job in jobs for item in job.items])
    for job in jobs:
        if results is None:
            job.run()
        else:
            count = len(job.items)
            job.tell(result=results[:count])
            results = results[count:]
