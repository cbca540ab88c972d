"""What a call of code in C does, as an entry of a table says it."""

from __future__ import annotations

from typing import NamedTuple

NOTHING = "nothing"
READ = "read the whole owner"
WRITE = "write the whole owner"
READ_ITEM = "subscript"
READ_ITEM_BY_NAME = "subscript, by the name of its method"
READ_KEY = "read an item if it is there"
WRITE_KEY = "write an item"
CONTAINS_ITEM = "contains"
CONTAINS_ITEM_BY_NAME = "contains, by the name of its method"
STEP = "next"
ASK_FOR_LENGTH = "ask how much there is, or is still to come"
ITERATE = "iter"
CONSUME = "read all items"
COMPARE = "comparison"
GET_ATTRIBUTE = "getattr"
SET_ATTRIBUTE = "setattr"
VARS = "vars"
SET_ITEM = "store a subscript"
DELETE_ITEM = "delete a subscript"
SET_ITEM_BY_NAME = "store a subscript, by the name of its method"
DELETE_ITEM_BY_NAME = "delete a subscript, by the name of its method"
BINARY = "binary operator"
BINARY_IN_PLACE = "binary operator in place"
PRINT = "print"
USE = "read and write whatever it is given"
READ_ARGUMENTS = "read its arguments"
FORMAT = "read what the fields of a format lead to"
PICKLE = "read all that its first argument leads to, and how it is to be pickled"
REGISTER = "register a class with an abstract one"
CHECK_REGISTERED = "look whether a class is registered with an abstract one"
READ_NAMES = "read which attributes there are"
READ_PARTS = "read the owner and its parts of the same class"
ASK_INTERPRETER = "ask the interpreter what no operation of the program changes by itself"
CHANGE_FUTURE = "change a future of an event loop"
LOOK_AT_FUTURE = "look at a future of an event loop"
READ_ALL = "read all that its first argument leads to"
GET_BY_DESCRIPTOR = "get an attribute by its descriptor"
SET_BY_DESCRIPTOR = "set an attribute by its descriptor"
SET_TRACEBACK = "set the traceback of an exception"
LOOK_AT_CLASS = "look at the class"
LOOK_AT_BASES = "look at the bases of a class"
MAKE_CLASS = "make a class, which its bases know"
LOOK_WHETHER_CALLABLE = "look whether the class has a method for calls"
HASH = "ask for the hash"
WRITE_BUFFER = "write into a buffer that it is given"
RELEASE_VIEW = "release a view of memory"
LOOK_IN_MAPPING = "look into a mapping of memory, from where one is in it or not"
READ_MAPPING = "read a mapping of memory, and go on in it"
WRITE_MAPPING = "change a mapping of memory, and go on in it"
WARN = "look at which warnings are wanted"
LOOK_WHETHER_CLOSED = "look whether a socket is closed"
WRITE_STATE = "change state of the process"
USE_STATE = "change state of the process if its last argument is something, and read it"
READ_STATE = "read state of the process"
READ_FILE = "read a file"
WRITE_FILE = "change a file"
NAME_FILE = "remove a file"
MAKE_FILE = "make a folder or a pipe, with the rights that the umask leaves"
REMOVE_FOLDER = "remove a folder, which must be empty"
LIST_FOLDER = "read the names in a folder"
OPEN_FILE = "open a file"
RENAME_FILE = "rename a file"
LINK_FILE = "make a link to a file"
READ_CURRENT_FOLDER = "ask for the current folder"
WRITE_CURRENT_FOLDER = "change the current folder"
READ_STREAM = "read from an open file"
WRITE_STREAM = "write to an open file"
USE_STREAM = "move in an open file"
LOOK_IN_STREAM = "look where in an open file one is"
CLOSE_STREAM = "close an open file"
LOOK_AT_STREAM = "look at how an open file is set up"
READ_DESCRIPTOR = "read through a descriptor, and go on in its file"
WRITE_DESCRIPTOR = "write through a descriptor, and go on in its file"
SEND_FILE = "write through a descriptor what is read through another one"
COPY_FILE = "the same, the other way round: what is read comes first"
READ_AT_POSITION = "read from a given position of a descriptor's file"
WRITE_AT_POSITION = "write to a given position of a descriptor's file"
SEEK_DESCRIPTOR = "move in the file of a descriptor"
LOOK_AT_DESCRIPTOR = "ask for flags and options of a descriptor"
CHANGE_DESCRIPTOR = "set flags and options of a descriptor"
CONTROL_DESCRIPTOR = "ask for flags of a descriptor, or set them"
USE_CONTEXT_VARIABLE = "look into the context in which it is called, or change it"
CLOSE_DESCRIPTOR = "close a descriptor"
EXCHANGE_DESCRIPTOR = "open a descriptor for the file of another one"

DEFAULT_TIMEOUT = "sockets' default timeout"
"""State of the process that each new socket looks at."""

FIRST = "calls its first argument, with the others"
FOLDS = "calls the owner with two items at a time"
HELD = "calls what the owner holds"

ALL = (0, 1, 2)
"""Of the arguments that are read: all, however many there are."""


class Effect(NamedTuple):
    """What a call does.

    Parameters:
        action: one of the constants above, done to the owner.
        consumes: positions of arguments all of whose items are read; the owner does not count.
        takes_owner_from_arguments: the first argument is the owner; else the ``self`` of a method.
        calls_back: it may call functions written in Python while it works on the owner: those it
            is given, iterators that it reads, comparisons of items.
        leads_on: it works on the streams that the owner holds, too.
        reads_all: all that the first argument leads to is read.
        by_value: the owner and the arguments are compared, or made into text: what lies in
            containers inside is read, too.
        state: of the process that it is about, for people.
        calls: which functions in C it calls, where that is neither one that it is given by keyword
            nor any other argument.
        at_once: items are looked at one by one, as they come, and not compared with later ones.
        fills: bytes are put into its first argument, or into what is in that.
    """

    action: str
    consumes: tuple[int, ...] = ()
    takes_owner_from_arguments: bool = False
    calls_back: bool = False
    leads_on: bool = False
    reads_all: bool = False
    by_value: bool = False
    state: str = ""
    calls: str = ""
    at_once: bool = False
    fills: bool = False

    def with_items(self, calls_back: bool, by_value: bool) -> Effect:
        """The same of a call that looks at items.

        Made without the method ``_replace``, which the test would then seem to have called.
        """
        return Effect(
            self.action,
            self.consumes,
            self.takes_owner_from_arguments,
            calls_back,
            self.leads_on,
            self.reads_all,
            by_value,
            self.state,
            self.calls,
            self.at_once,
            self.fills,
        )


PLAIN_WRITE = Effect(WRITE)
"""The most frequent one, such as that of ``list.append``."""
