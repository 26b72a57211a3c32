"""A headless Chromium for tests, spoken to over its debugging pipe: nothing else is needed."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

BINARY = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
PATIENCE = 60.0  # seconds for one answer


class Chromium:
    """One browser with one page; ``with Chromium(folder) as browser: ...``."""

    def __init__(self, profile):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def connect():  # the browser reads commands from 3 and answers on 4
            # Copies above 4 first: either pipe may have got one of the two numbers.
            source, sink = os.dup2(to_browser, 103), os.dup2(from_browser, 104)
            os.dup2(source, 3)
            os.dup2(sink, 4)

        self.process = subprocess.Popen(
            [
                BINARY,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                # It asks its makers for nothing of its own accord.
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-quic",
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            preexec_fn=connect,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number, self._session = b"", 0, None
        self.events = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.kill()
        self.process.wait()
        os.close(self._read)
        os.close(self._write)

    def send(self, method, **params):
        """Return the answer to a command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, path, *, width, height=900, dark=False):
        """Load a file from the disk and wait until it is complete."""
        self.events.clear()
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.send("Page.navigate", url=Path(path).resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def evaluate(self, expression):
        """Return the value of a JavaScript expression."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def move_to(self, x, y):
        """Move the mouse."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key):
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, path=None):
        """Return the whole page as PNG, and write it if a path is given."""
        picture = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        content = base64.b64decode(picture["data"])
        if path is not None:
            Path(path).write_bytes(content)
        return content

    def pdf(self):
        """Return the page as it is printed."""
        return base64.b64decode(self.send("Page.printToPDF")["data"])

    @property
    def requests(self):
        """Addresses that were asked for since the page was opened."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    @property
    def complaints(self):
        """Errors and warnings of the console, and uncaught exceptions."""
        found = []
        for event in self.events:
            method, params = event["method"], event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"]["text"])
            elif method == "Log.entryAdded":
                found.append(params["entry"]["text"])
            elif method == "Runtime.consoleAPICalled":
                found.append(str(params["args"]))
        return found

    def _next(self):
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._read], [], [], max(left, 0))
            assert ready, "the browser does not answer"
            chunk = os.read(self._read, 1 << 20)
            assert chunk, "the browser went away"
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)
