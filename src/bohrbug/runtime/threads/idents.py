"""What ``threading.get_ident`` returns in tasks: numbers that C code can take for threads.

Natively the number is a ``pthread_t``, and so some programs give it to C (trio names its
threads with ``pthread_setname_np``).  There it is the address of what the C library knows of
the thread.  For tasks it is an address, too, at which there are zeros: of a thread that is no
more.
"""

from __future__ import annotations

import ctypes
import mmap
import sys

FIRST_IDENT = 1 << 40
"""That of the first task but the root; the same in every process, as are those that follow."""

_SIZE = 1 << 24
_MAP_NORESERVE, _MAP_FIXED_NOREPLACE = 0x4000, 0x100000


def _map_zeros() -> None:
    """Let there be zeros from the first number on; they take no memory.

    If that is not possible nothing is lost but what is said above.
    """
    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    library.mmap(
        ctypes.c_void_p(FIRST_IDENT),
        ctypes.c_size_t(_SIZE),
        ctypes.c_int(mmap.PROT_READ | mmap.PROT_WRITE),
        ctypes.c_int(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED_NOREPLACE),
        ctypes.c_int(-1),
        ctypes.c_long(0),
    )


if sys.platform == "linux":
    _map_zeros()
