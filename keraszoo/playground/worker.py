"""One thread that runs the work of all requests, one after the other, behind a bounded queue."""

import asyncio
import queue
import threading
import time
import traceback

from keraszoo.errors import KerasZooError
from keraszoo.messages import say

WAITING = 16  # requests that may wait
SECONDS = 300  # until a request is given up


class Cancelled(Exception):
    """Nobody waits for the result of a job any more."""


class Job:
    """The work of one request: a function of `progress`, which takes a str and may raise `Cancelled`."""

    def __init__(self, work):
        self.work = work
        self.cancelled = False
        self.events = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def run(self):
        """Runs the work in the thread of the worker; reports the result or one line about an error."""
        try:
            if not self.cancelled:
                self.tell(result=self.work(self.progress))
        except Cancelled:
            pass
        except (KerasZooError, OSError) as error:
            self.tell(error=" ".join(str(error).split()))
        except Exception as error:  # a bug must not end the thread
            traceback.print_exc()
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
    """Runs jobs in one thread, which calls `prepare` first; a request gets an error after some seconds."""

    def __init__(self, prepare=None, waiting=WAITING, seconds=SECONDS):
        self.seconds = seconds
        self._jobs, self._waiting = queue.Queue(), waiting
        threading.Thread(target=self._run, args=(prepare,), daemon=True).start()

    def _run(self, prepare):
        try:
            if prepare is not None:
                prepare()
        except KerasZooError as error:  # comes again when a model is loaded
            say(f"error: {error}")
        while True:
            self._jobs.get().run()

    def submit(self, work):
        """Puts work into the queue; returns a `Job`. Raises KerasZooError if the queue is full."""
        with self._jobs.mutex:
            before = sum(not job.cancelled for job in self._jobs.queue)
        if before >= self._waiting:
            raise KerasZooError(f"{before} requests are waiting already; try again later")
        job = Job(work)
        self._jobs.put(job)
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
            yield {"error": f"no answer within {self.seconds} seconds"}
        finally:
            job.cancelled = True
