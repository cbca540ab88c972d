"""Where there are no modules of POSIX, as on Windows: what can be controlled there is explored."""

from __future__ import annotations

from tests.end_to_end.conftest import Folder

# The library itself is loaded before, since it would look for modules that only Windows has.
AS_ON_WINDOWS = """
import asyncio, concurrent.futures, ctypes, inspect, linecache, logging.handlers, mmap
import multiprocessing.pool, multiprocessing.synchronize, os, pathlib, pickle, queue, random
import select, shutil, signal, socket, sqlite3, ssl, subprocess, sys, sysconfig, tempfile
import threading, uuid, zipfile
import greenlet

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("fcntl", "grp", "posix", "pwd", "resource", "termios"):
            raise ModuleNotFoundError(name, name=name)

for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules.pop(name, None)
for name in (
    "fork forkpty get_blocking set_blocking pread preadv pwrite pwritev readv writev mkfifo "
    "fchmod fchown getpriority nice posix_fallocate sendfile"
).split():
    if hasattr(os, name):
        delattr(os, name)
sys.meta_path.insert(0, Absent)
class NoLibrary(ctypes.CDLL):
    def __init__(self, name, *args, **kwargs):
        assert name is not None
        super().__init__(name, *args, **kwargs)
ctypes.CDLL = NoLibrary
sys.modules[pathlib.Path.__module__].WindowsPath = pathlib.PosixPath
# It would look into the interpreter for what only that of Windows has.
sysconfig.get_config_vars()
os.name, sys.platform = "nt", "win32"

import bohrbug

def test():
    counter = [0]
    def add():
        value = counter[0]
        counter[0] = value + 1
    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter == [2]

print(bohrbug.explore(test).verdict.kind.value)
"""


def test_threads_are_explored_without_modules_of_posix(folder: Folder) -> None:
    folder.write("as_on_windows.py", AS_ON_WINDOWS)
    # Nothing is compiled there.
    command = [folder.command()[0], "as_on_windows.py"]
    done = folder.run(command, BOHRBUG_PURE_PYTHON="1")
    assert done.out == "failed\n", done.out + done.err
