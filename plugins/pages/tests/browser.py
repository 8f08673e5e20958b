"""A headless Chromium that is driven through its own protocol, over pipes."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time

#: names that distributions install the browser under
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
    "--remote-debugging-pipe",
)


def find_browser():
    """Return the program, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a fresh profile.

    :param profile: an empty folder.
    """

    def __init__(self, program, profile, seconds=60):
        self.deadline = time.monotonic() + seconds
        #: messages of the console, exceptions, and loads of anything
        self.console = []
        self.requests = []
        self._numbers = itertools.count(1)
        self._buffer = b""
        child_in, self._out = os.pipe()
        self._in, child_out = os.pipe()

        def connect():
            # the protocol is spoken on 3 and 4; high numbers first, so that neither end is overwritten
            first, second = os.dup(child_in), os.dup(child_out)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "--window-size=1280,900", "about:blank"],
            preexec_fn=connect,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(child_in)
        os.close(child_out)
        self._session = None
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")[
            "targetId"
        ]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        os.close(self._out)  # which ends the browser
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)

    def call(self, method, **parameters):
        """Call a method of the protocol and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                result = answer["result"]
                return result

    def open(self, path):
        """Load a page and return the seconds until it was complete."""
        start = time.monotonic()
        self.call("Page.navigate", url=path.as_uri())
        while self.evaluate("document.readyState") != "complete":
            time.sleep(0.01)
        return time.monotonic() - start

    def evaluate(self, expression):
        """Return the value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def key(self, name, code):
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def colours(self, scheme):
        """Prefer ``light`` or ``dark``."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, path, width=1280, height=900):
        """Write a PNG of the visible part of a window of that size."""
        self.resize(width, height)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def resize(self, width, height=900):
        """Give the window another size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def pdf(self):
        """Return what is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def _receive(self):
        while b"\0" not in self._buffer:
            left = self.deadline - time.monotonic()
            ready, _, _ = select.select([self._in], [], [], max(0.0, left))
            if not ready:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._in, 1 << 16)
            if not part:
                raise EOFError(f"the browser ended with {self._process.wait()}")
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append(str(parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.console.append(str(parameters["entry"]["text"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(str(parameters["request"]["url"]))
        return message
