"""A page in headless Chromium, driven as a user would and watched from outside by the DevTools protocol.

`Browser` starts the program and speaks through two pipes; `open` shows a page in a window of some width, light, dark or as
it is printed. `said` has what the console said, `asked` the addresses that were asked for beside the page.
"""
import base64
import fcntl
import json
import os
import select
import subprocess
import time

TIMEOUT_S = 60


class Browser:
    def __init__(self, folder):
        to_read, self._to = os.pipe()
        self._from, from_write = os.pipe()
        # The protocol has the numbers 3 and 4; numbers above 9 stand in no one's way.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, from_write)]
        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}",
             "--window-size=1600,1000", "about:blank"],
            preexec_fn=lambda: [os.dup2(end, number) for end, number in zip(ends, (3, 4))], pass_fds=(3, 4),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_read, from_write, *ends):
            os.close(end)
        self._buffer, self._number, self._answers = b"", 0, {}
        self.said, self.asked, self._events = [], [], []
        self._session = None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        try:
            self._session = None
            self.call("Browser.close")
            self.process.wait(10)
        finally:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- the protocol

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        self._until(lambda: self._number in self._answers, method)
        answer = self._answers.pop(self._number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _until(self, condition, what):
        end = time.monotonic() + TIMEOUT_S
        while not condition():
            if not select.select([self._from], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError(f"the browser does not answer: {what}")
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError(f"the browser ended with {self.process.wait()}: {what}")
            *messages, self._buffer = (self._buffer + part).split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def _take(self, message):
        if "id" in message:
            self._answers[message["id"]] = message
            return
        event, what = message["method"], message.get("params", {})
        self._events.append(event)
        if event == "Runtime.consoleAPICalled":
            self.said.append(" ".join(str(a.get("value", a.get("description"))) for a in what["args"]))
        elif event == "Runtime.exceptionThrown":
            self.said.append(json.dumps(what["exceptionDetails"]))
        elif event == "Log.entryAdded":
            self.said.append(what["entry"]["text"])
        elif event == "Network.requestWillBeSent" and not what["request"]["url"].startswith("data:"):
            self.asked.append(what["request"]["url"])

    # -- a page

    def open(self, path, width=1000, height=900, scheme="light", media="screen", scripts=True):
        address = f"file://{os.path.abspath(path)}"
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self._events.clear()
        self.call("Page.navigate", url=address)
        self._until(lambda: "Page.loadEventFired" in self._events, f"loading {path}")
        self.asked = [a for a in self.asked if a != address]

    def tell(self, expression):
        """The value of a JavaScript expression, also of a promise; works on pages whose own scripts are off."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def place(self, selector):
        """The middle of the first element, scrolled into view."""
        found = self.tell(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{ block: "center", inline: "center", behavior: "instant" }});
            const box = element.getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2];
        }})()""")
        return found

    def mouse(self, kind, at, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], **more)

    def hover(self, selector):
        self.mouse("mouseMoved", self.place(selector))

    def click(self, selector):
        at = self.place(selector)
        self.mouse("mouseMoved", at)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, at, button="left", clickCount=1)

    def press(self, key, code, number):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number)

    def wheel(self, selector, turn, ctrl=False):
        self.mouse("mouseWheel", self.place(selector), deltaX=0, deltaY=turn, modifiers=2 if ctrl else 0)

    # -- pictures

    def picture(self, path, whole=True):
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(found["data"]))

    def paper(self, path):
        found = self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(found["data"]))
