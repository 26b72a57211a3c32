"""A process of its own for methods that may hang, crash or eat all memory, and its guard.

Threads that run jobs (joblib's, or those of a cluster's worker) each keep one such process. It
has one BLAS thread, does one job at a time, and is killed when a job takes too long; the next job
gets a new one.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["JobLostError", "Lane", "close_all", "lane_of_this_thread"]

_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_START = "import sys; sys.path[:] = {path!r}; from sagdiv.experiments.lanes import serve; serve()"
_START_LIMIT, _FAREWELL = 300.0, 5.0
_GONE = object()

_lanes: set[Lane] = set()
_here = threading.local()


class JobLostError(Exception):
    """The process of a job is no more; the message says why."""


class Lane:
    """A Python process that calls functions, one after the other."""

    def __init__(self) -> None:
        environment = os.environ | dict.fromkeys(_THREAD_LIMITS, "1")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        _lanes.add(self)
        self._answers.get(timeout=_START_LIMIT)  # ready: limits of calls count from here

    def call(self, function: Callable[..., Any], *arguments: Any, limit: float) -> Any:
        """Return what the function returns, or raise `JobLostError` after ``limit`` seconds."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            pickle.dump((function, arguments), stdin)
            stdin.flush()
            answer = self._answers.get(timeout=limit)
        except queue.Empty:
            self.close()
            raise JobLostError(f"time limit: killed after {limit:g} s") from None
        except (BrokenPipeError, ValueError):  # its end of the pipe is closed, or ours
            answer = _GONE
        if answer is _GONE:
            with suppress(subprocess.TimeoutExpired):  # its last words, if it can say them
                self._process.wait(timeout=_FAREWELL)
            self.close()
            raise JobLostError(f"its process died: {_cause(self._process.returncode)}")
        return answer

    @property
    def alive(self) -> bool:
        """Whether it can take another job."""
        return self in _lanes and self._process.poll() is None

    def close(self) -> None:
        """End the process at once."""
        _lanes.discard(self)
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # of what was not sent yet
                    pipe.close()

    def _listen(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        try:
            while True:
                self._answers.put(pickle.load(stdout))
        except (EOFError, pickle.UnpicklingError, OSError):
            self._answers.put(_GONE)


def lane_of_this_thread() -> Lane:
    """Return the lane that belongs to the calling thread, a new one if the last is gone."""
    lane: Lane | None = getattr(_here, "lane", None)
    if lane is None or not lane.alive:
        lane = _here.lane = Lane()
    return lane


def close_all() -> None:
    """End every lane of this process."""
    for lane in list(_lanes):
        lane.close()


def serve() -> None:
    """Answer calls until the other side goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the guard decides
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what methods print goes elsewhere
    pickle.dump("ready", answers)
    answers.flush()
    while True:
        try:
            function, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(function(*arguments), answers)
        answers.flush()


def _cause(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
