"""Files dragged from another program and dropped on a window, by the protocol XDND (freedesktop.org, version 5), which
xdotool does not speak: the source owns the selection XdndSelection, tells the target of the pointer and of the drop, and
gives it the list of files when it asks.
"""
import ctypes
import time
from pathlib import Path
from urllib.parse import quote

VERSION, TIMEOUT_S = 5, 20
SELECTION_REQUEST, SELECTION_NOTIFY, CLIENT_MESSAGE = 30, 31, 33  # X.h
BITS_OF_TEXT, PROP_MODE_REPLACE = 8, 0

_HEAD = [("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int), ("display", ctypes.c_void_p)]


class Message(ctypes.Structure):
    _fields_ = [*_HEAD, ("window", ctypes.c_ulong), ("message_type", ctypes.c_ulong), ("format", ctypes.c_int), ("data", ctypes.c_long * 5)]


class Request(ctypes.Structure):
    _fields_ = [*_HEAD, *((n, ctypes.c_ulong) for n in ("owner", "requestor", "selection", "target", "property", "time"))]


class Notify(ctypes.Structure):
    _fields_ = [*_HEAD, *((n, ctypes.c_ulong) for n in ("requestor", "selection", "target", "property", "time"))]


class Event(ctypes.Union):
    _fields_ = [("type", ctypes.c_int), ("message", Message), ("request", Request), ("notify", Notify), ("pad", ctypes.c_long * 24)]


class Drag:
    """One drag over a window of a display; drop() ends it."""

    def __init__(self, display_name, target, paths):
        self.x = ctypes.CDLL("libX11.so.6")
        self.x.XOpenDisplay.restype = ctypes.c_void_p
        display = self.x.XOpenDisplay(display_name.encode())
        assert display, f"no display {display_name}"
        self.display = ctypes.c_void_p(display)
        self.target = int(target)
        self.list = "".join(f"file://{quote(str(Path(p).absolute()))}\r\n" for p in paths).encode()
        self.source = self.x.XCreateSimpleWindow(self.display, self.x.XDefaultRootWindow(self.display), 0, 0, 1, 1, 0, 0, 0)
        self.x.XSetSelectionOwner(self.display, self.atom("XdndSelection"), self.source, 0)

    def atom(self, name):
        return self.x.XInternAtom(self.display, name.encode(), 0)

    def tell(self, kind, *data):
        event = Event()
        event.message = Message(type=CLIENT_MESSAGE, display=self.display, window=self.target, message_type=self.atom(kind), format=32,
                                data=(self.source, *data))
        self.x.XSendEvent(self.display, self.target, 0, 0, ctypes.byref(event))
        self.x.XFlush(self.display)

    def give(self, request):
        """The list of files, to who asks for it."""
        self.x.XChangeProperty(self.display, request.requestor, request.property, request.target, BITS_OF_TEXT, PROP_MODE_REPLACE,
                               self.list, len(self.list))
        event = Event()
        event.notify = Notify(type=SELECTION_NOTIFY, display=self.display, requestor=request.requestor, selection=request.selection,
                              target=request.target, property=request.property, time=request.time)
        self.x.XSendEvent(self.display, request.requestor, 0, 0, ctypes.byref(event))
        self.x.XFlush(self.display)

    def hear(self, kind):
        """Answers the target until it says so."""
        end, event, wanted = time.monotonic() + TIMEOUT_S, Event(), self.atom(kind)
        while time.monotonic() < end:
            if not self.x.XPending(self.display):
                time.sleep(0.01)
                continue
            self.x.XNextEvent(self.display, ctypes.byref(event))
            if event.type == SELECTION_REQUEST:
                self.give(event.request)
            elif event.type == CLIENT_MESSAGE and event.message.message_type == wanted:
                return list(event.message.data)
        raise AssertionError(f"the window did not answer with {kind} in {TIMEOUT_S} s")

    def drop(self, x, y):
        """At a place of the screen."""
        self.tell("XdndEnter", VERSION << 24, self.atom("text/uri-list"), 0, 0)
        self.tell("XdndPosition", 0, x << 16 | y, 0, self.atom("XdndActionCopy"))
        assert self.hear("XdndStatus")[1] & 1, "the window does not take it"
        self.tell("XdndDrop", 0, 0, 0, 0)
        self.hear("XdndFinished")
        self.x.XCloseDisplay(self.display)
