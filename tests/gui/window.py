"""The real window of the desktop app on a display of its own, and input to it as a user gives it.

Display starts Xvfb, and openbox where it is wanted. Window starts `spscope-gui --window --ui-dump FILE`; the file says
after each frame what the window holds, by which tests find what they click: names are paths of the dump, whole or their
last parts. After each input the window is waited for until it has drawn a newer frame and has nothing more to do.
"""
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path

SKIPPED = 77
KEYS = {"Plus": "KP_Add", "Minus": "minus", "Equal": "equal", "Comma": "comma", "Period": "period", "Slash": "slash",
        "LeftBracket": "bracketleft", "RightBracket": "bracketright", "PageUp": "Prior", "PageDown": "Next",
        "Enter": "Return", "Backspace": "BackSpace", "Space": "space", "?": "shift+slash"}
MODIFIERS = {"Ctrl": "ctrl", "Shift": "shift", "Alt": "alt", "Super": "super"}
TIMEOUT_S = 120


def missing():
    """Why windows cannot be tested on this machine; nothing when they can."""
    for tool, package in (("Xvfb", "xvfb"), ("xdotool", "xdotool")):
        if shutil.which(tool) is None:
            return f"{tool} is not installed (package {package})"
    return None


def keysym(press):
    """The key of commands.def, "Ctrl+Shift+P", as xdotool names it."""
    if press == "?":
        return KEYS["?"]
    *modifiers, key = press.split("+")
    key = KEYS.get(key, key.lower() if len(key) == 1 else key)
    return "+".join([MODIFIERS[m] for m in modifiers] + [key])


class Display:
    def __init__(self, size=(1920, 1080), manager=None, options=()):
        read_end, write_end = os.pipe()
        command = ["Xvfb", "-displayfd", str(write_end), "-screen", "0", f"{size[0]}x{size[1]}x24", "-noreset", "-r", "-nolisten", "tcp", *options]
        self.server = subprocess.Popen(command, pass_fds=[write_end], stderr=subprocess.DEVNULL)
        os.close(write_end)
        with os.fdopen(read_end) as number:
            self.name = ":" + number.readline().strip()
        if self.name == ":":
            raise RuntimeError("Xvfb did not start")
        self.environment = {**os.environ, "DISPLAY": self.name, "LIBGL_ALWAYS_SOFTWARE": "1"}
        self.environment.pop("WAYLAND_DISPLAY", None)
        self.manager = None
        if manager:
            self.manager = subprocess.Popen([manager], env=self.environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            self._await_manager()

    def _await_manager(self):
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            if subprocess.run(["xdotool", "get_desktop"], env=self.environment, capture_output=True).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError("the window manager did not start")

    def close(self):
        for process in (self.manager, self.server):
            if process is not None:
                process.terminate()
                process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Window:
    def __init__(self, display, *arguments, program, size=(1440, 900), folder=None, environment=None, rest=True):
        self.display = display
        self.own_folder = None if folder else tempfile.TemporaryDirectory(prefix="spscope-window-")  # which goes with the window
        self.folder = Path(folder or self.own_folder.name)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.dump_path, self.errors_path = self.folder / "window.json", self.folder / "stderr.txt"
        self.dump_path.unlink(missing_ok=True)
        settings = [] if "--settings" in arguments else ["--settings", ""]
        sized = ["--size", f"{size[0]}x{size[1]}"] if size else []
        command = [str(program), "--window", "--ui-dump", str(self.dump_path), *sized, *settings, *map(str, arguments)]
        self.errors = open(self.errors_path, "w+", encoding="utf-8")
        self.process = subprocess.Popen(command, env={**display.environment, **(environment or {})}, stderr=self.errors,
                                        stdout=subprocess.DEVNULL, cwd=self.folder)
        self.state = {"frame": 0, "actions": 0}
        self.parsed = None
        self.settle(self.state, rest=rest)
        self._focus()

    # -- what the window holds

    def read(self):
        """The newest dump; the one before while the file is being replaced. Each dump is another file, and parsed once."""
        try:
            found = os.stat(self.dump_path)
            if (found.st_ino, found.st_mtime_ns) != self.parsed:
                self.state = json.loads(self.dump_path.read_text(encoding="utf-8"))
                self.parsed = found.st_ino, found.st_mtime_ns
        except (FileNotFoundError, json.JSONDecodeError):
            pass
        return self.state

    def settle(self, before=None, actions=0, rest=True, timeout=TIMEOUT_S):
        """Waits for a frame newer than the state `before` that has taken so many more actions (buttons that change, turns
        of the wheel, presses of keys), with nothing left to do unless `rest` is false."""
        before = before or self.state
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.alive()
            state = self.read()
            if state["frame"] > before["frame"] and state["actions"] >= before["actions"] + actions and not (rest and state["busy"]):
                return state
            time.sleep(0.01)
        raise AssertionError(f"the window did not come to rest in {timeout} s (frame {self.state['frame']}, before {before['frame']}, "
                             f"{self.state['actions'] - before['actions']} of {actions} actions, busy {self.state.get('busy')})")

    def wait_for(self, condition, what, timeout=TIMEOUT_S):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.alive()
            if (found := condition(self.read())) not in (None, False, []):
                return found
            time.sleep(0.02)
        raise AssertionError(f"{what}: not in {timeout} s; the window says: {' | '.join(self.texts())[:2000]}")

    def rest(self):
        """Waits until no frame is drawn any more: what scrolls is known a frame after it is there."""
        frame, since = -1, 0
        def still(state):
            nonlocal frame, since
            if state["frame"] != frame or state["busy"]:
                frame, since = state["frame"], time.monotonic()
            return time.monotonic() - since > 0.3
        self.wait_for(still, "no more frames")

    def alive(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the app ended with {self.process.returncode}: {self.said()}")

    def said(self):
        return self.errors_path.read_text(encoding="utf-8", errors="replace")

    @property
    def items(self):
        return self.state["items"]

    @property
    def link(self):
        return self.state["link"]

    @property
    def view(self):
        return self.state["view"]

    def texts(self):
        return [i["text"] for i in self.items if i["kind"] == "text"]

    def rows(self, table):
        """Texts of the rows of a table that can be seen."""
        return [i["text"] for i in self.items if f"/{table}/rows/row " in i["path"] and i["kind"] == "row"]

    @property
    def details(self):
        return " ".join(i["text"] for i in self.items if i["path"].startswith("details/"))

    @property
    def tooltip(self):
        return [i["text"] for i in self.items if i["layer"] == 2]

    def says(self, words):
        return any(words in i["text"] for i in self.items)

    def find(self, name, kind=None):
        """Items whose path is `name`, or ends in /`name`."""
        return [i for i in self.items if (i["path"] == name or i["path"].endswith("/" + name)) and kind in (None, i["kind"]) and
                (kind == "text" or i["kind"] != "text")]

    def item(self, name, kind=None, first=False):
        found = self.find(name, kind)
        if not found or (len(found) > 1 and not first):
            paths = sorted({i["path"] for i in (found or self.items) if i["kind"] != "text"})
            raise AssertionError(f"{len(found)} items are named {name!r}; there are: " + ", ".join(paths))
        return found[0]

    def has(self, name, kind=None):
        return bool(self.find(name, kind))

    # -- input

    def _xdotool(self, *arguments):
        subprocess.run(["xdotool", *map(str, arguments)], env=self.display.environment, check=True, timeout=TIMEOUT_S, capture_output=True)

    def _focus(self):
        found = subprocess.run(["xdotool", "search", "--onlyvisible", "--pid", str(self.process.pid)], env=self.display.environment,
                               capture_output=True, text=True, check=True).stdout.split()
        self.id = found[-1]
        subprocess.run(["xdotool", "windowfocus", "--sync", self.id], env=self.display.environment, check=False, capture_output=True)

    def _move(self, x, y):
        self._xdotool("mousemove", "--window", self.id, round(x), round(y))

    def point(self, item, at=(0.5, 0.5)):
        """A place inside what can be seen of an item, as parts of its width and height."""
        left, top, right, bottom = seen(item)
        if right - left < 1 or bottom - top < 1:
            raise AssertionError(f"{item['path']} cannot be seen: {item['rect']} in {item['clip']}")
        return left + at[0] * (right - left), top + at[1] * (bottom - top)

    def reach(self, name, kind=None, first=False):
        """The item, scrolled into view where it lies outside of its pane. One that is not there yet may come with the next
        frame: the numbers of a view can be newer than what the same frame shows of them."""
        end = time.monotonic() + 5
        while not self.find(name, kind) and time.monotonic() < end:
            self.alive()
            time.sleep(0.02)
            self.read()
        for _ in range(60):
            item = self.item(name, kind, first)
            left, top, right, bottom = seen(item)
            if right - left >= 2 and bottom - top >= min(8, item["rect"][3] - item["rect"][1]):
                return item
            clip = item["clip"]
            x, y = (clip[0] + clip[2]) / 2, (clip[1] + clip[3]) / 2
            button = 5 if item["rect"][1] >= clip[3] - 8 else 4
            self.wheel_at(x, y, button)
        raise AssertionError(f"{name} cannot be scrolled into view")

    def wheel_at(self, x, y, button, times=1, keys=()):
        before = self.read()
        self._move(x, y)
        for key in keys:
            self._xdotool("keydown", key)
        self._xdotool("click", "--repeat", times, "--delay", 5, button)
        for key in keys:
            self._xdotool("keyup", key)
        return self.settle(before, times)

    def wheel(self, name, up=True, times=1, keys=(), at=(0.5, 0.5)):
        x, y = self.point(self.reach(name), at)
        return self.wheel_at(x, y, 4 if up else 5, times, keys)

    def click(self, name, kind=None, at=(0.5, 0.5), button=1, times=1, first=False, rest=True):
        """`rest`: whether to wait until nothing more is to do, as a long query."""
        # What was opened, closed or answered just before moves the item a frame later: the pointer follows it, as a hand does.
        for _ in range(10):
            before = self.read()
            point = self.point(self.reach(name, kind, first), at)
            self._move(*point)
            end = time.monotonic() + 0.1  # no frame is drawn where the pointer was there before
            while self.read()["frame"] == before["frame"] and time.monotonic() < end:
                time.sleep(0.01)
            if not self.find(name, kind) or self.point(self.item(name, kind, first), at) == point:
                break
        before = self.state
        self._xdotool("click", "--repeat", times, "--delay", 40, button)
        return self.settle(before, 2 * times, rest)

    def hover(self, name, kind=None, at=(0.5, 0.5), first=False):
        return self.hover_at(*self.point(self.reach(name, kind, first), at))

    def hover_at(self, x, y):
        before = self.read()
        self._move(x + 1, y)
        self._move(x, y)
        return self.settle(before)

    def drag(self, begin, end, keys=(), button=1):
        """From one place of the window to another, in steps as a hand makes them."""
        before = self.read()
        self._move(*begin)
        for key in keys:
            self._xdotool("keydown", key)
        self._xdotool("mousedown", button)
        self.settle(before, 1)
        for part in (0.25, 0.5, 0.75, 1):
            frame = self.read()
            self._move(*(begin[i] + part * (end[i] - begin[i]) for i in (0, 1)))
            self.settle(frame)
        self._xdotool("mouseup", button)
        for key in keys:
            self._xdotool("keyup", key)
        return self.settle(before, 2)

    def press(self, *presses, rest=True):
        """Keys by their names in commands.def."""
        before = self.read()
        self._xdotool("key", *map(keysym, presses))
        return self.settle(before, len(presses), rest)

    def type(self, text):
        before = self.read()
        self._xdotool("type", "--delay", 6, "--", text)
        return self.settle(before, len(text))

    def fill(self, field, text):
        self.click(field)
        self.press("Ctrl+A")
        self.type(text)

    def choose(self, field, option):
        self.click(field, "choice")
        self.click(option)

    def ask(self, question, rest=True):
        """A question of the view SQL."""
        self.fill("sql/main/question", question)
        self.click("sql/main/ask", rest=rest)

    def clipboard(self, field):
        """What was copied, by pasting it into a field, as a user would look."""
        self.click(field)
        self.press("Ctrl+A")
        self.press("Ctrl+V")
        value = self.item(field)["value"]
        self.press("Ctrl+A", "Delete")
        self.press("Escape")
        return value

    # -- the end

    def close(self):
        """Ends the app as a user does; its standard error is empty."""
        if self.process.poll() is None:
            self._xdotool("key", "ctrl+q")
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError("the app did not end after Ctrl+Q") from None
        self.errors.close()
        if self.process.returncode != 0 or self.said():
            raise AssertionError(f"the app ended with {self.process.returncode} and said: {self.said()}")

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


def seen(item):
    """The part of an item that is inside its clip: left, top, right, bottom."""
    rect, clip = item["rect"], item["clip"]
    return max(rect[0], clip[0]), max(rect[1], clip[1]), min(rect[2], clip[2]), min(rect[3], clip[3])


def pixels_of_screen(path, width, height):
    """Rows of R, G, B bytes of the top left of a screen that Xvfb keeps in a file: XWD, 32 bits a pixel, B G R X."""
    data = path.read_bytes()
    header = struct.unpack(">25I", data[:100])
    begin, line, bits, colors = header[0] + 12 * header[19], header[12], header[11], header[19]
    assert bits == 32 and colors >= 0
    rows = []
    for y in range(height):
        row = data[begin + y * line:begin + y * line + 4 * width]
        rgb = bytearray(3 * width)
        rgb[0::3], rgb[1::3], rgb[2::3] = row[2::4], row[1::4], row[0::4]
        rows.append(bytes(rgb))
    return rows
