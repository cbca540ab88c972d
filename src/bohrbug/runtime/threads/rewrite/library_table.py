"""What the standard library's code in C reads and writes, but for containers and builtins.

All by name, so that nothing is imported for it. Each module in C of the library is in one of three
groups: those whose functions only read what they are given, those whose functions do nothing to
objects of the program, or are controlled elsewhere, and the rest; exceptions are named one by one.
A function of any other module is unknown.
"""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.threads.rewrite.classes import names
from bohrbug.runtime.threads.rewrite.effects import (
    CHANGE_FUTURE,
    CHECK_REGISTERED,
    CLOSE_STREAM,
    DEFAULT_TIMEOUT,
    HELD,
    LOOK_AT_FUTURE,
    LOOK_AT_STREAM,
    NOTHING,
    PICKLE,
    READ,
    READ_ALL,
    READ_ARGUMENTS,
    READ_PARTS,
    READ_STATE,
    REGISTER,
    USE,
    USE_STATE,
    WARN,
    WRITE,
    WRITE_BUFFER,
    WRITE_STATE,
    Effect,
)

HARMLESS = Effect(NOTHING)
UNKNOWN = Effect(USE)
READING = Effect(READ_ARGUMENTS)

READING_MODULES = names(
    "math math.integer cmath binascii zlib _bz2 _lzma _zstd unicodedata _codecs _statistics"
    " _string _struct _operator _json marshal _md5 _sha1 _sha2 _sha256 _sha512 _sha3"
    " _blake2 _hashlib _hmac audioop _crypt _random _csv _elementtree pyexpat decimal _decimal"
    " _locale _pickle"
    " _multibytecodec _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw"
    " _curses _curses_panel array mmap grp pwd spwd syslog"
)
"""Modules whose functions read buffers and containers that they are given, and no more."""

HARMLESS_MODULES = names(
    # They look at the interpreter, and take objects as they are.
    "builtins sys sys.monitoring gc _abc _ast _imp _functools _collections itertools _opcode"
    " _symtable _typing _types _tokenize _tracemalloc _remote_debugging _warnings _weakref _stat"
    " _sre errno faulthandler atexit readline _uuid _datetime _zoneinfo _ctypes _lsprof"
    " _suggestions _sysconfig"
    # Controlled elsewhere.
    " _asyncio _contextvars _io io _posixshmem _posixsubprocess _multiprocessing _queue"
    " _signal _socket _sqlite3 _ssl _thread _interpreters _interpchannels _interpqueues posix"
    " time select fcntl termios resource nis ossaudiodev _greenlet greenlet._greenlet"
    " _dbm _gdbm _tkinter bohrbug.accelerator._accelerator"
)
"""Modules whose functions do nothing to objects that they are given."""

UMASK = "the umask"
"""Whatever makes a file or a folder reads it."""

_STATES = {
    "_csv": (
        ("csv's limit of fields", "", "field_size_limit", ""),
        (
            "csv's dialects",
            "register_dialect unregister_dialect",
            "",
            "get_dialect list_dialects reader writer",
        ),
    ),
    "sys": (
        ("the recursion limit", "setrecursionlimit", "", "getrecursionlimit"),
        ("whether imports are lazy", "set_lazy_imports", "", "get_lazy_imports"),
        (
            "the filter of lazy imports",
            "set_lazy_imports_filter",
            "",
            "get_lazy_imports_filter",
        ),
        ("the flags for loading libraries", "setdlopenflags", "", "getdlopenflags"),
        (
            "the trampoline for profilers",
            "activate_stack_trampoline deactivate_stack_trampoline",
            "",
            "is_stack_trampoline_active",
        ),
        ("the switch interval", "setswitchinterval", "", "getswitchinterval"),
        ("the limit of digits", "set_int_max_str_digits", "", "get_int_max_str_digits"),
    ),
    "sys.monitoring": (
        (
            "the events of sys.monitoring",
            "set_events set_local_events clear_tool_id restart_events",
            "",
            "get_events get_local_events",
        ),
    ),
    "resource": (("the limits of resources", "setrlimit", "prlimit", "getrlimit"),),
    "_socket": ((DEFAULT_TIMEOUT, "setdefaulttimeout", "", "getdefaulttimeout"),),
    "posix": ((UMASK, "umask", "", ""), ("the niceness", "nice", "", "getpriority")),
    "gc": (
        ("the thresholds of the collector", "set_threshold", "", "get_threshold"),
        ("whether the collector is on", "enable disable", "", "isenabled"),
        ("the debugging flags of the collector", "set_debug", "", "get_debug"),
        ("what the collector passes over", "freeze unfreeze", "", "get_freeze_count"),
    ),
    "atexit": (
        ("what is called at exit", "register unregister _clear _run_exitfuncs", "", "_ncallbacks"),
    ),
    # Which other interpreters there are; their channels and queues, whichever it is.
    "_interpreters": (
        (
            "the interpreters that there are",
            "create destroy incref decref set___main___attrs",
            "",
            "list_all is_running get_config whence",
        ),
    ),
    "_interpqueues": (
        (
            "queues between interpreters",
            "put get create destroy bind release",
            "",
            "is_full get_count list_all",
        ),
    ),
    "_interpchannels": (
        (
            "channels between interpreters",
            "send send_buffer recv close create destroy release",
            "",
            "get_count get_info list_all list_interpreters",
        ),
    ),
    "_thread": (("the stack size of threads", "", "stack_size", ""),),
    "faulthandler": (("the fault handler", "enable disable", "", "is_enabled"),),
    "_tracemalloc": (("tracing of memory", "start stop clear_traces", "", "is_tracing"),),
    "time": (("the time zone", "tzset", "", "mktime"),),
    "_signal": (("signal handlers", "signal", "", "getsignal"),),
    "_codecs": (
        ("the handlers of codecs", "register_error _unregister_error", "", "lookup_error"),
    ),
    "_locale": (("the locale", "", "setlocale", "localeconv strcoll strxfrm"),),
}
"""State of the process by module: how reports call it, and the functions that change it, that
change it if they are given something, and that read it."""

_FUNCTIONS = {
    **dict.fromkeys(
        (("marshal", "dump"), ("marshal", "dumps")),
        Effect(READ_ALL),
    ),
    **dict.fromkeys((("_pickle", "dump"), ("_pickle", "dumps")), Effect(PICKLE)),
    **dict.fromkeys((("_warnings", "warn"), ("_warnings", "warn_explicit")), Effect(WARN)),
    ("_abc", "_abc_register"): Effect(REGISTER, (), True),
    **dict.fromkeys(
        (("_abc", "_abc_instancecheck"), ("_abc", "_abc_subclasscheck")),
        Effect(CHECK_REGISTERED, (), True),
    ),
    # They go on in a stream.
    **dict.fromkeys((("_pickle", "load"), ("marshal", "load")), Effect(WRITE, (), True)),
    ("_struct", "pack_into"): Effect(WRITE_BUFFER),
    ("_elementtree", "SubElement"): Effect(WRITE, (), True),
}


def effect_of(function: Any) -> Effect:
    """What a function in C does that is not in the table of builtins.

    Parameters:
        function: of a module.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__name__", None)
    known = _FUNCTIONS.get((module, name))  # type: ignore[arg-type]
    if known is not None:
        return known
    for state, changing, using, reading in _STATES.get(module, ()):  # type: ignore[arg-type]
        for which, action in ((changing, WRITE_STATE), (using, USE_STATE), (reading, READ_STATE)):
            if name in which.split():
                return Effect(action, state=state)
    if module in READING_MODULES:
        return READING
    return HARMLESS if module in HARMLESS_MODULES else UNKNOWN


def _methods(writes: str = "", reads: str = "", **others: Effect) -> dict[str, Effect]:
    """Methods that change their object, and read what they are given; and those that only read."""
    return {
        **dict.fromkeys(reads.split(), Effect(READ, (0,))),
        **dict.fromkeys(writes.split(), Effect(WRITE, (0, 1), calls_back=True)),
        **others,
    }


_HASH = _methods("update", "digest hexdigest copy")
_COMPRESSOR = _methods("compress decompress flush", "copy")
_MEMORY = _methods(
    "fill sort partition put resize setfield setflags byteswap itemset",
    "all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy"
    " cumprod cumsum diagonal dot dump dumps flatten getfield item max mean min nonzero prod ptp"
    " ravel repeat reshape round searchsorted squeeze std sum swapaxes take tobytes tofile tolist"
    " tostring trace transpose var view",
)

METHODS: dict[tuple[str, str], dict[str, Effect]] = {
    ("_csv", "writer"): {
        "writerow": Effect(WRITE, (0,), leads_on=True, calls_back=True, by_value=True),
        "writerows": Effect(WRITE, (0,), leads_on=True, calls_back=True, by_value=True),
    },
    **{
        ("_asyncio", name): {
            **dict.fromkeys(
                names(
                    "cancel uncancel set_result set_exception add_done_callback"
                    " remove_done_callback set_name"
                ),
                Effect(CHANGE_FUTURE),
            ),
            **dict.fromkeys(
                names("done cancelled cancelling result exception get_name"),
                Effect(LOOK_AT_FUTURE),
            ),
        }
        for name in ("Future", "Task")
    },
    ("_ssl", "_SSLContext"): _methods(
        "load_cert_chain load_dh_params load_verify_locations set_default_verify_paths"
        " set_ciphers set_ecdh_curve set_psk_client_callback set_psk_server_callback"
        " _set_alpn_protocols set_ciphersuites set_client_sigalgs set_server_sigalgs set_groups",
        "cert_store_stats get_ca_certs get_ciphers get_groups session_stats _wrap_socket _wrap_bio",
    ),
    ("_ssl", "MemoryBIO"): _methods("read write write_eof"),
    ("sqlite3", "Blob"): _methods("read write seek tell close __exit__"),
    # What classes in Python derive from.
    ("_io", "_IOBase"): {
        **dict.fromkeys(names("close __exit__"), Effect(CLOSE_STREAM)),
        **dict.fromkeys(
            names("_checkClosed _checkReadable _checkWritable _checkSeekable"),
            Effect(LOOK_AT_STREAM),
        ),
    },
    ("_io", "IncrementalNewlineDecoder"): _methods("decode setstate reset getstate"),
    ("_io", "BufferedRWPair"): _methods("read peek read1 readinto readinto1 write flush close"),
    ("_random", "Random"): _methods("random seed setstate getrandbits", "getstate"),
    ("_sre", "SRE_Scanner"): _methods("match search"),
    ("posix", "ScandirIterator"): _methods("close __exit__"),
    ("pyexpat", "xmlparser"): dict.fromkeys(
        ("Parse", "ParseFile"), Effect(WRITE, (0, 1), calls_back=True, calls=HELD)
    ),
    ("_struct", "Struct"): {
        "pack_into": Effect(WRITE_BUFFER),
        **dict.fromkeys(("unpack", "unpack_from", "iter_unpack"), READING),
    },
    ("xml.etree.ElementTree", "Element"): _methods(
        "set append insert remove clear extend",
        "get getchildren items iter iterfind itertext keys makeelement",
        **dict.fromkeys(("find", "findall", "findtext"), Effect(READ_PARTS)),
    ),
    # It puts events into the queue of an ``XMLPullParser``.
    ("xml.etree.ElementTree", "TreeBuilder"): dict.fromkeys(
        names("start end data close comment pi"), Effect(WRITE, (0, 1), calls_back=True, calls=HELD)
    ),
    ("xml.etree.ElementTree", "XMLParser"): dict.fromkeys(
        ("feed", "close", "flush"), Effect(WRITE, (0, 1), calls_back=True, calls=HELD)
    ),
    ("_pickle", "Pickler"): {
        "dump": Effect(WRITE, leads_on=True, reads_all=True, calls_back=True),
        "clear_memo": Effect(WRITE),
    },
    ("_pickle", "Unpickler"): {"load": Effect(WRITE, leads_on=True, calls_back=True)},
    ("_json", "Encoder"): {"__call__": Effect(READ_ALL, calls_back=True, calls=HELD)},
    ("_json", "Scanner"): {"__call__": Effect(NOTHING, calls_back=True, calls=HELD)},
    **{("_hashlib", name): _HASH for name in ("HASH", "HASHXOF", "HMAC")},
    ("_hmac", "HMAC"): _HASH,
    ("_md5", "md5"): _HASH,
    ("_sha1", "sha1"): _HASH,
    **{("_blake2", name): _HASH for name in ("blake2b", "blake2s")},
    **{
        (module, f"{kind}{size}"): _HASH
        for module in ("_sha2", "_sha256", "_sha512", "_sha3")
        for kind in ("sha", "sha3_", "shake_", "SHA")
        for size in (128, 224, 256, 384, 512)
    },
    **{("zlib", name): _COMPRESSOR for name in ("Compress", "Decompress")},
    **{("_bz2", name): _COMPRESSOR for name in ("BZ2Compressor", "BZ2Decompressor")},
    **{("_lzma", name): _COMPRESSOR for name in ("LZMACompressor", "LZMADecompressor")},
    **{
        ("_multibytecodec", name): _methods("encode decode reset setstate", "getstate")
        for name in ("MultibyteIncrementalEncoder", "MultibyteIncrementalDecoder")
    },
    ("decimal", "Context"): _methods(
        # They raise flags.
        "abs add apply canonical clear_flags clear_traps compare compare_signal compare_total"
        " compare_total_mag copy_abs copy_decimal copy_negate copy_sign create_decimal"
        " create_decimal_from_float divide divide_int divmod exp fma is_canonical is_finite"
        " is_infinite is_nan is_normal is_qnan is_signed is_snan is_subnormal is_zero ln log10"
        " logb logical_and logical_invert logical_or logical_xor max max_mag min min_mag minus"
        " multiply next_minus next_plus next_toward normalize number_class plus power quantize"
        " radix remainder remainder_near rotate same_quantum scaleb shift sqrt subtract"
        " to_eng_string to_integral_exact to_integral_value to_sci_string",
        "copy Etiny Etop",
    ),
    # They are computed in the context of whoever calls them.
    ("decimal", "Decimal"): _methods(
        reads="compare compare_signal compare_total compare_total_mag copy_sign exp fma is_normal"
        " is_subnormal ln log10 logb logical_and logical_invert logical_or logical_xor max max_mag"
        " min min_mag next_minus next_plus next_toward normalize number_class quantize"
        " remainder_near rotate same_quantum scaleb shift sqrt to_eng_string to_integral"
        " to_integral_exact to_integral_value __add__ __sub__ __mul__ __truediv__ __floordiv__"
        " __mod__ __pow__ __neg__ __pos__ __abs__ __divmod__ __format__ __round__",
    ),
    ("numpy", "ndarray"): _MEMORY,
}
"""Effects of methods by the module and the name of the class in C that has them.

The keys are those of ``__module__`` and ``__name__``; a subclass has them, too.
"""
