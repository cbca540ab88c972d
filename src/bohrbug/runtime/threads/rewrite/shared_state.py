"""Functions of trusted modules in which tasks meet: they are rewritten all the same."""

from __future__ import annotations

import sys

from bohrbug.runtime.threads.rewrite.classes import names

_MATCH = "match" if sys.version_info < (3, 15) else "prefixmatch"
"""What ``re.match`` calls itself."""

_ASYNC_STATE = (
    " getasyncgenstate markcoroutinefunction _has_coroutine_mark"
    if sys.version_info >= (3, 12)
    else ""
)

_SHUTDOWN = " Queue.shutdown" if sys.version_info >= (3, 13) else ""

_ITERATORS = (
    " serialize_iterator.__init__ serialize_iterator.__next__ serialize_iterator.send"
    " serialize_iterator.throw serialize_iterator.close"
    " _concurrent_tee.__init__ _concurrent_tee.__next__"
    if sys.version_info >= (3, 15)
    else ""
)

_OF_CALLS = ("called_once", "called_with", "called_once_with", "any_call", "has_calls")
_ASSERTIONS = " ".join(
    [f"NonCallableMock.assert_{name}" for name in (*_OF_CALLS, "not_called", "called")]
    + [f"AsyncMockMixin.assert_{name.replace('call', 'await')}" for name in _OF_CALLS]
    + ["AsyncMockMixin.assert_awaited", "AsyncMockMixin.assert_not_awaited"]
)
"""Methods of mocks that look at how they were called, or awaited."""

_BY_MODULE = {
    # Whether what a predicate of the program gives back is true; how iterators are shared.
    "threading": f"Condition.wait_for{_ITERATORS}",
    # It calls what it was given, which may be written in C.
    # And goes over what is to be mapped.
    "concurrent.futures._base": "Future._invoke_callbacks Executor.map",
    "logging": "Logger.addHandler Logger.removeHandler Logger.callHandlers Logger.setLevel"
    " Logger.handle Logger.makeRecord LoggerAdapter.process LogRecord.getMessage Filter.filter"
    " Logger.getEffectiveLevel Logger.hasHandlers"
    " Handler.handle Handler.setLevel Handler.setFormatter Filterer.addFilter Filterer.removeFilter"
    " Filterer.filter"
    " Handler.format Formatter.format Formatter.formatTime Formatter.formatMessage"
    " Formatter.usesTime PercentStyle._format StrFormatStyle._format StringTemplateStyle._format"
    " Handler.get_name Handler.set_name addLevelName getLevelName getLevelNamesMapping"
    " setLogRecordFactory setLoggerClass disable Manager.disable Manager.getLogger",
    "logging.handlers": "RotatingFileHandler.doRollover TimedRotatingFileHandler.doRollover"
    " BaseRotatingHandler.rotate WatchedFileHandler.reopenIfNeeded BufferingHandler.emit"
    " BufferingHandler.shouldFlush BufferingHandler.flush"
    " MemoryHandler.shouldFlush MemoryHandler.setTarget MemoryHandler.flush",
    "abc": "ABCMeta.register ABCMeta.__instancecheck__ ABCMeta.__subclasscheck__",
    # Looks for a member that a hook of the program may make, and store, in another task; and sets
    # what is no member.
    "enum": "Enum.__new__ EnumType.__setattr__ EnumType.__delattr__",
    "inspect": f"getgeneratorstate getcoroutinestate{_ASYNC_STATE} getclosurevars"
    " getattr_static _check_instance getmembers _getmembers getmembers_static"
    " _signature_from_callable _signature_from_function unwrap get_annotations",
    "annotationlib": "get_annotations _get_dunder_annotations ForwardRef.evaluate",
    "typing": "_BaseGenericAlias.__call__ get_type_hints _ProtocolMeta.__instancecheck__",
    "warnings": "catch_warnings.__enter__ catch_warnings.__exit__ simplefilter"
    " _add_filter resetwarnings _showwarnmsg",
    "contextlib": "_RedirectStream.__enter__ _RedirectStream.__exit__ ExitStack.__exit__"
    " AsyncExitStack.__aexit__ _BaseExitStack.pop_all _BaseExitStack._push_exit_callback"
    " _BaseExitStack._create_cb_wrapper"
    " chdir.__enter__ chdir.__exit__ closing.__exit__",
    # What looks like shared between processes, and is between threads.
    "multiprocessing.dummy": "Value.value",
    # Whether a pool is closed, which another task may do meanwhile, and what is to be mapped.
    "multiprocessing.pool": "Pool._check_running Pool.close Pool.terminate Pool._handle_workers"
    " Pool._handle_tasks Pool._handle_results Pool._get_tasks Pool._guarded_task_generation"
    " ApplyResult.__init__",
    "multiprocessing.shared_memory": "ShareableList.__getitem__ ShareableList.__setitem__"
    " ShareableList._get_packing_format ShareableList._get_back_transform"
    " ShareableList._set_packing_format_and_transform SharedMemory.buf SharedMemory.close",
    # Arrays that are locked by themselves, and not where somebody has what is in them.
    "multiprocessing.sharedctypes": "SynchronizedArray.__getitem__ SynchronizedArray.__setitem__",
    # What threads that forget about the loop share with it.
    "asyncio.locks": "Event.is_set Event.set Event.wait Lock.acquire Lock.locked Lock.release"
    " Semaphore.acquire Semaphore.locked Semaphore.release BoundedSemaphore.release",
    "asyncio.queues": "Queue._get Queue._put Queue.empty Queue.full Queue.qsize Queue.put_nowait"
    f" Queue.get_nowait Queue.task_done Queue._format{_SHUTDOWN} PriorityQueue._get"
    " PriorityQueue._put LifoQueue._get LifoQueue._put",
    "asyncio.events": "Handle.cancel Handle.cancelled",
    "asyncio.base_events": "Server.close Server.is_serving Server._start_serving Server.sockets"
    " BaseEventLoop.get_exception_handler BaseEventLoop.set_exception_handler"
    " BaseEventLoop.get_task_factory BaseEventLoop.set_task_factory",
    "asyncio.selector_events": "_SelectorTransport.is_closing _SelectorTransport.close"
    " _SelectorTransport._force_close",
    "asyncio.streams": "StreamReader.at_eof StreamReader.feed_eof StreamReader.feed_data"
    " StreamReader.exception StreamReader.set_exception",
    # In which order mocks are called, and what patches put in place and back.
    "unittest.mock": "CallableMixin._increment_mock_call CallableMixin._execute_mock_call"
    " _delegating_property.<locals>._get _delegating_property.<locals>._set"
    " NonCallableMock.__get_return_value"
    " NonCallableMock.__get_side_effect"
    " NonCallableMock.__getattr__ NonCallableMock.__setattr__ NonCallableMock.__delattr__"
    " NonCallableMock.__dir__ NonCallableMock.reset_mock"
    f" {_ASSERTIONS} AsyncMockMixin._execute_mock_call AsyncMockMixin.reset_mock"
    " _Sentinel.__getattr__"
    " _patch.get_original _patch.__enter__ _patch.__exit__"
    " _patch_dict._patch_dict _patch_dict._unpatch_dict _clear_dict",
    "_pytest.monkeypatch": "MonkeyPatch.setattr MonkeyPatch.delattr MonkeyPatch.setitem"
    " MonkeyPatch.delitem MonkeyPatch.undo",
    # What is decoded halfway, and where a stream is.
    "codecs": "BufferedIncrementalEncoder.encode BufferedIncrementalEncoder.reset"
    " BufferedIncrementalEncoder.getstate BufferedIncrementalEncoder.setstate"
    " BufferedIncrementalDecoder.decode BufferedIncrementalDecoder.reset"
    " BufferedIncrementalDecoder.getstate BufferedIncrementalDecoder.setstate StreamWriter.write"
    " StreamWriter.writelines StreamReader.read StreamReader.readline StreamReader.readlines"
    " StreamReader.reset StreamReader.seek StreamReader.__next__ StreamWriter.reset"
    " StreamWriter.seek StreamReaderWriter.__next__ StreamReaderWriter.reset"
    " StreamReaderWriter.seek StreamReaderWriter.read StreamReaderWriter.readline"
    " StreamReaderWriter.readlines StreamReaderWriter.write StreamReaderWriter.writelines",
    "locale": "setlocale getlocale localeconv",
    # Which modules are being reloaded.
    "importlib": "reload",
    # Whether a module that is loaded when it is used is loaded.
    "importlib.util": "_LazyModule.__getattribute__",
    # What a text of an exception shows, which another task may change.
    "traceback": "TracebackException.__init__ _safe_string",
    "linecache": "getlines updatecache checkcache clearcache",
    # What a program sets on an object that shortens texts, and what a visitor of a tree changes.
    "reprlib": "Repr.repr Repr.repr1 Repr._repr_iterable Repr.repr_tuple Repr.repr_list"
    " Repr.repr_array Repr.repr_set Repr.repr_frozenset Repr.repr_deque Repr.repr_dict"
    " Repr.repr_str Repr.repr_int Repr.repr_instance",
    "ast": "NodeVisitor.generic_visit NodeTransformer.generic_visit",
    "re": f"purge Scanner.scan _compile {_MATCH} fullmatch search sub subn split findall finditer",
    # The variables of what is entered at a prompt, and what is still to be completed.
    "code": "InteractiveInterpreter.runcode InteractiveConsole.push InteractiveConsole.resetbuffer",
    "trace": "CoverageResults.update",
    "copyreg": "pickle constructor add_extension remove_extension",
}
_CODECS = {
    "utf_16 utf_32 utf_8_sig": "Encoder.encode Encoder.reset Encoder.getstate Encoder.setstate"
    " Decoder._buffer_decode Decoder.reset Decoder.getstate Decoder.setstate",
    "zlib_codec bz2_codec": "Encoder.encode Encoder.reset Decoder.decode Decoder.reset",
}
"""Codecs whose incremental encoders and decoders have a state of their own."""

_BY_MODULE.update(
    {
        f"encodings.{codec}": " ".join(f"Incremental{method}" for method in methods.split())
        for codecs, methods in _CODECS.items()
        for codec in codecs.split()
    }
)
# From Python 3.14 on.
_BY_MODULE["_py_warnings"] = _BY_MODULE["warnings"]

SHARED_STATE = frozenset(
    (module, function) for module, functions in _BY_MODULE.items() for function in names(functions)
)
"""Each is named by its module and its qualified name."""
