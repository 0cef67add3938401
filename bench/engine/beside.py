"""What bench/engine/beside needs of the kernel: a look again and again, and a thread's time slice as it was before waggle asked.

beside.py look SECONDS      busy for 3 ms in every 100, as a look at a system's processes is
beside.py usual PID         gives the load threads of a process the slice that its first thread has
"""

import ctypes
import os
import platform
import sys
import time

LOOK_S = 0.003
PAUSE_S = 0.097
SIZE = 48
NUMBERS = {"x86_64": (314, 315), "aarch64": (274, 275)}


class Attributes(ctypes.Structure):
    """struct sched_attr of the kernel, in its first form; of SCHED_OTHER the slice stands in `runtime`, in nanoseconds."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    ]


kernel = ctypes.CDLL(None, use_errno=True)
set_number, get_number = NUMBERS[platform.machine()]


def call(number, thread, attributes, *more):
    if kernel.syscall(number, thread, ctypes.byref(attributes), *more) != 0:
        raise OSError(ctypes.get_errno(), "the kernel refuses")


def attributes_of(thread):
    found = Attributes()
    call(get_number, thread, found, SIZE, 0)
    return found


def look(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        until = time.monotonic() + LOOK_S
        while time.monotonic() < until:
            with open("/proc/self/stat", "rb") as file:
                file.read()
        time.sleep(PAUSE_S)


def usual(pid):
    usual_slice = attributes_of(pid).runtime
    given = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm") as name:
            if not name.read().startswith("load-"):
                continue
        wish = attributes_of(int(thread))
        wish.runtime = usual_slice
        call(set_number, int(thread), wish, 0)
        given += 1
    if given == 0:
        sys.exit(f"process {pid} has no load threads")


if __name__ == "__main__":
    if sys.argv[1] == "look":
        look(float(sys.argv[2]))
    else:
        usual(int(sys.argv[2]))
