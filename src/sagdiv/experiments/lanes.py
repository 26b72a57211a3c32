"""A process of its own for methods that may hang, crash or eat all memory, and its guard.

Threads that run jobs (joblib's, or those of a cluster's worker) each keep one such process. It
has one BLAS thread, does one job at a time, and is killed when a job takes too long, together with
whatever processes the job has started; the next job gets a new one. It does not outlive its guard,
however that ends.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, BinaryIO

__all__ = ["JobLostError", "JobTimeoutError", "Lane", "close_all", "lane_of_this_thread"]

_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_START = "import sys; sys.path[:] = {path!r}; from sagdiv.experiments.lanes import serve; serve()"
_START_LIMIT, _FAREWELL, _LOOK = 300.0, 5.0, 0.5  # seconds
_GONE = object()

_lanes: set[Lane] = set()
_here = threading.local()


class JobLostError(Exception):
    """The process of a job is no more; the message says why."""


class JobTimeoutError(JobLostError):
    """The process of a job was killed at its time limit."""


class Lane:
    """A Python process that calls functions, one after the other."""

    def __init__(self) -> None:
        environment = os.environ | dict.fromkeys(_THREAD_LIMITS, "1")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # a group of its own, which can be killed as a whole
        )
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._reporter = threading.Thread(
            target=_pass_on, args=(self._process.stderr,), daemon=True
        )
        self._reporter.start()
        _lanes.add(self)
        self._answers.get(timeout=_START_LIMIT)  # ready: limits of calls count from here

    def call(self, function: Callable[..., Any], *arguments: Any, limit: float) -> Any:
        """Return what the function returns, or raise `JobLostError` after ``limit`` seconds."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            pickle.dump((function, arguments), stdin)
            stdin.flush()
            answer = self._answer(limit)
        except queue.Empty:
            self.close()
            raise JobTimeoutError(f"time limit: killed after {limit:g} s") from None
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
        """End the process at once, and those that it has started."""
        _lanes.discard(self)
        self._kill()
        self._process.wait()
        # A process that has left the group may still hold the other end of the pipe.
        self._listener.join(timeout=_FAREWELL)
        pipes = [
            self._process.stdin,
            *([] if self._listener.is_alive() else [self._process.stdout]),
        ]
        for pipe in pipes:
            if pipe is not None:
                with suppress(BrokenPipeError):  # of what was not sent yet
                    pipe.close()

    def _answer(self, limit: float) -> Any:
        """Wait for an answer; that the pipe is open does not mean that anyone will write to it."""
        end = time.monotonic() + limit
        while True:
            gone = self._process.poll() is not None
            try:
                return self._answers.get(timeout=max(0.0, min(_LOOK, end - time.monotonic())))
            except queue.Empty:
                if gone:
                    return _GONE
                if time.monotonic() >= end:
                    raise

    def _kill(self) -> None:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):  # none of them is left
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()

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
    requests = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())  # methods that ask get no answer
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what methods print goes elsewhere
    calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, calls), daemon=True).start()
    pickle.dump("ready", answers)
    answers.flush()
    while True:
        function, arguments = calls.get()
        pickle.dump(function(*arguments), answers)
        answers.flush()


def _receive(requests: BinaryIO, calls: queue.SimpleQueue[Any]) -> None:
    """Pass calls on; when the guard is gone, even in the middle of a call, end this group."""
    try:
        while True:
            calls.put(pickle.load(requests))
    except EOFError:
        pass
    except Exception:  # a call that cannot be read here: it will be missed, and should be explained
        traceback.print_exc()
        os._exit(1)
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _pass_on(words: IO[bytes]) -> None:
    """Write what methods print to the stderr of here and now, which may be showing progress."""
    with words:
        for line in words:
            sys.stderr.write(line.decode(errors="replace"))
            sys.stderr.flush()


def _cause(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
