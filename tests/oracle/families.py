"""What random programs do: for each kind of shared object, how it is made, used and shown.

In statements, ``s`` is shared by all tasks, ``out`` is a list of the task's own, and ``K`` a small
number that differs from statement to statement.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """Programs that use one kind of object.

    Attributes:
        name: of the kind.
        made: statements that make the objects, as attributes of ``s``.
        statements: what tasks do with them.
        shown: an expression for what becomes of them in the end.
        before: definitions at the head of the program.
        assigned: global names that statements assign to, as a declaration lists them.
    """

    name: str
    made: str
    statements: tuple[str, ...]
    shown: str
    before: str = ""
    assigned: str = ""


FAMILIES = (
    Family(
        "attributes",
        "s.x, s.y = 0, 0",
        (
            "s.x = K",
            "s.x += K",
            "out.append(s.x)",
            "s.y = s.x + K",
            "out.append((s.x, s.y))",
            "out.append(getattr(s, 'z', None))",
            "setattr(s, 'z', K)",
            "del s.z",
            "out.append(sorted(vars(s).get('z', 'none') if k == 'z' else '' for k in ('x', 'z')))",
            "s.__dict__.update(x=K, y=K)",
            "out.append(hasattr(s, 'z'))",
        ),
        "(s.x, s.y, getattr(s, 'z', None))",
    ),
    Family(
        "globals",
        "G = 0",
        (
            "G += K",
            "out.append(G)",
            "globals()['G'] = K",
            "out.append(helper())",
            "helper = other_helper",
        ),
        "(G, restore())",
        """\
def helper():
    return G

def other_helper():
    return -G

first_helper = helper

def restore():
    global helper
    helper = first_helper
""",
        assigned="G, helper",
    ),
    Family(
        "closures",
        "s.add, s.get = make_counter()",
        ("s.add(K)", "out.append(s.get())", "s.add(s.get())"),
        "s.get()",
        """\
def make_counter():
    count = 0

    def add(number):
        nonlocal count
        count += number

    def get():
        return count

    return add, get
""",
    ),
    Family(
        "lists",
        "s.items = [3, 1, 2]",
        (
            "s.items.append(K)",
            "out.append(s.items.pop())",
            "s.items.insert(0, K)",
            "s.items.remove(1)",
            "s.items.extend(x + K for x in (1, 2))",
            "s.items.sort(key=negative)",
            "s.items[0] = K",
            "s.items[0] += K",
            "s.items[1:2] = [K, K]",
            "for x in s.items: out.append(x)",
            "out.append(len(s.items))",
            "out.append(K in s.items)",
            "s.items.reverse()",
            "out.append(sum(s.items))",
            "s.items += [K]",
            "if s.items: out.append(s.items[-1])",
            "del s.items[0]",
            "out.append(sorted(s.items, key=negative))",
            "s.items = s.items + [K]",
            "out.append([x for x in s.items if x > 1])",
            "s.items.clear()",
        ),
        "s.items",
        """\
def negative(x):
    return -x
""",
    ),
    Family(
        "dictionaries",
        "s.table = {'a': 1}",
        (
            "s.table['a'] = K",
            "s.table['a'] += K",
            "s.table['b'] = K",
            "out.append(s.table.get('b'))",
            "if 'b' not in s.table: s.table['b'] = K",
            "out.append(s.table.setdefault('b', K))",
            "out.append(s.table.pop('a'))",
            "for k in s.table: out.append(k)",
            "out.append(sorted(s.table.items()))",
            "s.table.update(a=K, b=K)",
            "s.table |= {'c': K}",
            "out.append(len(s.table))",
            "del s.table['a']",
            "out.append({k: v + K for k, v in s.table.items()})",
            "out.append(dict(s.table))",
            "out.append(s.table.popitem())",
        ),
        "sorted(s.table.items())",
    ),
    Family(
        "keys",
        "s.keyed = {Key(1): 0}",
        (
            "s.keyed[Key(1)] += K",
            "s.keyed[Key(2)] = K",
            "out.append(s.keyed.get(Key(2)))",
            "out.append(Key(1) in s.keyed)",
            "s.keyed.pop(Key(1))",
            "out.append(len(s.keyed))",
        ),
        "sorted((k.number, v) for k, v in s.keyed.items())",
        """\
class Key:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self.number == other.number
""",
    ),
    Family(
        "sets",
        "s.names = {'a'}",
        (
            "s.names.add('b')",
            "s.names.discard('a')",
            "s.names.remove('a')",
            "out.append('b' in s.names)",
            "for name in s.names: out.append('some')",
            "out.append(len(s.names))",
            "s.names |= {'c'}",
            "out.append(sorted(s.names))",
            "if 'b' not in s.names: s.names.add('b'); out.append('first')",
        ),
        "sorted(s.names)",
    ),
    Family(
        "deques",
        "s.line = collections.deque([1, 2], 4)",
        (
            "s.line.append(K)",
            "out.append(s.line.popleft())",
            "s.line.appendleft(K)",
            "s.line.rotate(1)",
            "for x in s.line: out.append(x)",
            "out.append(len(s.line))",
            "if s.line: out.append(s.line.pop())",
            "s.line.extend(x for x in (K, K))",
            "s.line[0] += K",
        ),
        "list(s.line)",
        "import collections\n",
    ),
    Family(
        "generators",
        "s.numbers = numbers(s); s.sent = 0",
        (
            "out.append(next(s.numbers, None))",
            "for x in s.numbers: out.append(x)",
            "s.numbers.close()",
            "out.append(s.numbers.gi_running)",
            "out.append(list(s.numbers))",
        ),
        "s.sent",
        """\
def numbers(s):
    for x in (1, 2, 3):
        s.sent += 1
        yield x
""",
    ),
    Family(
        "iterators",
        "s.iterated = itertools.count(); s.few = iter([1, 2, 3]); s.mapped = map(double, [1, 2, 3])",  # noqa: E501
        (
            "out.append(next(s.iterated))",
            "out.append(next(s.few, None))",
            "out.append(list(s.few))",
            "out.append(next(s.mapped, None))",
            "for x in s.mapped: out.append(x)",
            "out.append(next(zip(s.iterated, s.few), None))",
        ),
        "next(s.iterated)",
        """\
import itertools

def double(x):
    return 2 * x
""",
    ),
    Family(
        "heaps",
        "s.heap = [Item(1), Item(3)]",
        (
            "heapq.heappush(s.heap, Item(K))",
            "out.append(heapq.heappop(s.heap).number)",
            "bisect.insort(s.heap, Item(K))",
            "out.append(heapq.heapreplace(s.heap, Item(K)).number)",
            "out.append(min(s.heap).number)",
            "s.heap.sort()",
            "out.append(len(s.heap))",
            "heapq.heapify(s.heap)",
        ),
        "[item.number for item in s.heap]",
        """\
import bisect
import heapq

class Item:
    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        return self.number < other.number
""",
    ),
    Family(
        "callbacks",
        "s.seen = []; s.total = 0",
        (
            "out.append(functools.reduce(lambda a, b: note(s, a + b), [1, 2, K]))",
            "out.append(re.sub('a', lambda match: str(note(s, K)), 'aa'))",
            "out.append(json.dumps([Odd(s)], default=lambda odd: note(odd.s, K)))",
            "out.append(sorted([2, 1], key=lambda x: note(s, x)))",
            "out.append(list(filter(lambda x: note(s, x) > 1, [1, 2])))",
            "out.append(max([1, 2], key=lambda x: note(s, x)))",
            "s.total += K",
            "out.append(list(s.seen))",
            "s.seen.append(K)",
        ),
        "(s.seen, s.total)",
        """\
import functools
import json
import re

class Odd:
    def __init__(self, s):
        self.s = s

def note(s, value):
    s.total = s.total + 1
    s.seen.append(value)
    return value
""",
    ),
    Family(
        "copies",
        "s.pair = Pair(1, [2])",
        (
            "out.append(copy.copy(s.pair).show())",
            "out.append(copy.deepcopy(s.pair).show())",
            "out.append(pickle.loads(pickle.dumps(s.pair)).show())",
            "s.pair.first = K",
            "s.pair.second.append(K)",
            "s.pair.first, s.pair.second = K, [K]",
            "s.pair = Pair(K, [K])",
            "out.append(s.pair == Pair(1, [2]))",
            "out.append(repr(s.pair))",
        ),
        "s.pair.show()",
        """\
import copy
import dataclasses
import pickle

@dataclasses.dataclass
class Pair:
    first: int
    second: list

    def show(self):
        return self.first, list(self.second)
""",
    ),
    Family(
        "bytes",
        "s.bytes = bytearray(b'abc'); s.array = array.array('i', [1, 2]); "
        "s.view = memoryview(s.array)",
        (
            "s.bytes[0] = K",
            "s.bytes[0] += K",
            "out.append(bytes(s.bytes))",
            "s.view[0] = K",
            "s.array[0] += K",
            "out.append(s.array.tolist())",
            "out.append(s.view[0])",
            "struct.pack_into('b', s.bytes, 0, K)",
            "out.append(struct.unpack_from('b', s.bytes, 0))",
            "s.bytes.extend(b'd')",
            "out.append(s.bytes.find(b'b'))",
        ),
        "(bytes(s.bytes), s.array.tolist())",
        "import array\nimport struct\n",
    ),
    Family(
        "foreign memory",
        "s.number = ctypes.c_int(1); s.same = ctypes.pointer(s.number); s.struct = Two(1, 2); "
        "s.buffer = bytearray(8); s.over = Two.from_buffer(s.buffer)",
        (
            "s.number.value = K",
            "s.number.value += K",
            "out.append(s.number.value)",
            "s.same[0] = K",
            "s.same.contents.value += K",
            "out.append(s.same[0])",
            "s.struct.one = K",
            "out.append((s.struct.one, s.struct.two))",
            "s.struct.two = s.struct.one + K",
            "s.over.one += K",
            "out.append(s.buffer[0])",
            "s.buffer[0] = K",
            "ctypes.memset(ctypes.addressof(s.number), 0, 4)",
        ),
        "(s.number.value, s.struct.one, s.struct.two, bytes(s.buffer))",
        """\
import ctypes

class Two(ctypes.Structure):
    _fields_ = [('one', ctypes.c_int), ('two', ctypes.c_int)]
""",
    ),
    Family(
        "files in memory",
        "s.lines = io.StringIO('one\\ntwo\\n'); s.raw = io.BytesIO(b'abcdef')",
        (
            "out.append(s.lines.readline())",
            "s.lines.write(str(K))",
            "s.lines.seek(0)",
            "out.append(s.lines.getvalue())",
            "print(K, file=s.lines)",
            "out.append(s.raw.read(2))",
            "s.raw.seek(1); out.append(s.raw.read(1))",
            "s.raw.write(b'x')",
            "out.append(s.raw.tell())",
            "for line in s.lines: out.append(line)",
            "csv.writer(s.lines).writerow([K, K])",
            "s.raw.truncate(K)",
        ),
        "(s.lines.getvalue(), s.raw.getvalue())",
        "import csv\nimport io\n",
    ),
    Family(
        "files",
        "s.file = tempfile.TemporaryFile(); s.file.write(b'abcdef'); s.file.seek(0); "
        "s.descriptor = s.file.fileno()",
        (
            "s.file.seek(2); out.append(s.file.read(1))",
            "out.append(s.file.read(2))",
            "s.file.seek(0); s.file.write(b'x')",
            "out.append(s.file.tell())",
            "s.file.flush()",
            "out.append(os.pread(s.descriptor, 2, 0))",
            "os.lseek(s.descriptor, 1, os.SEEK_SET); out.append(os.read(s.descriptor, 1))",
            "os.pwrite(s.descriptor, b'yz', 1)",
            "s.file.close()",
        ),
        "s.file.closed or (s.file.flush(), os.pread(s.descriptor, 9, 0), s.file.close())",
        "import os\nimport tempfile\n",
    ),
    Family(
        "queues",
        "s.queue = queue.Queue(2); s.simple = queue.SimpleQueue()",
        (
            "s.queue.put_nowait(K)",
            "out.append(s.queue.get_nowait())",
            "out.append(s.queue.qsize())",
            "out.append(s.queue.empty())",
            "out.append(s.queue.unfinished_tasks)",
            "s.queue.task_done()",
            "s.simple.put(K)",
            "out.append(s.simple.get_nowait())",
            "out.append(s.simple.qsize())",
            "if not s.queue.full(): s.queue.put_nowait(K); out.append('put')",
        ),
        "(list(s.queue.queue), s.simple.qsize())",
        "import queue\n",
    ),
    Family(
        "primitives",
        "s.event = threading.Event(); s.room = threading.Semaphore(1); s.x = 0; "
        "s.inner = threading.RLock(); s.private = threading.local()",
        (
            "s.event.set()",
            "s.event.clear()",
            "out.append(s.event.is_set())",
            "if s.event.is_set(): s.x += K",
            "if s.room.acquire(blocking=False): s.x += K; s.room.release()",
            "with s.inner: s.x += K",
            "with s.inner, s.inner: out.append(s.x)",
            "s.x += K",
            "out.append(s.event.wait(0))",
            "s.private.x = K; out.append(s.private.x)",
            "if s.inner.acquire(blocking=False): out.append('free'); s.inner.release()",
        ),
        "(s.event.is_set(), s.x)",
    ),
    Family(
        "weak references",
        "s.strong = Weak(1); s.weak = weakref.ref(s.strong); "
        "s.values = weakref.WeakValueDictionary(a=s.strong); s.ends = []; "
        "weakref.finalize(s.strong, s.ends.append, 'end')",
        (
            "s.strong = None",
            "out.append(s.weak() is None)",
            "out.append(s.weak().number)",
            "out.append(s.values['a'].number)",
            "if s.weak() is not None: out.append(s.weak().number)",
            "out.append(len(s.values))",
            "s.strong = Weak(K)",
            "out.append(list(s.ends))",
            "s.values['a'] = s.strong",
        ),
        "(s.weak() is None, sorted(s.values), s.ends)",
        """\
import weakref

class Weak:
    def __init__(self, number):
        self.number = number
""",
    ),
    Family(
        "methods",
        "s.thing = Thing(); Thing.act = act; s.thing.x = 0",
        (
            "out.append(s.thing.act())",
            "Thing.act = other_act",
            "s.thing.act = lambda: 'own'",
            "s.thing.__class__ = OtherThing",
            "out.append(type(s.thing).__name__)",
            "out.append(s.thing.label)",
            "Thing.label = 'new'",
            "s.thing.x += K",
            "out.append(isinstance(s.thing, OtherThing))",
            "with_default.__defaults__ = (K,)",
            "out.append(with_default())",
        ),
        "(s.thing.act(), type(s.thing).__name__, restore_methods())",
        """\
class Thing:
    label = 'thing'

class OtherThing(Thing):
    label = 'other'

def act(self):
    return self.x

def other_act(self):
    return -1 - self.x

def with_default(x=0):
    return x

def restore_methods():
    Thing.label = 'thing'
    with_default.__defaults__ = (0,)
""",
    ),
    Family(
        "properties",
        "s.account = Account(); s.exception = Problem(1)",
        (
            "s.account.balance += K",
            "out.append(s.account.balance)",
            "s.account.balance = K",
            "out.append(s.account.lazy)",
            "out.append(s.account.cached(1))",
            "s.account['a'] = K",
            "out.append(s.account['a'])",
            "s.exception.args = (K, K)",
            "out.append(s.exception.args)",
            "s.account.slot = K",
            "out.append(s.account.slot)",
            "match s.account:\n    case Account(slot=1): out.append('one')",
        ),
        "(s.account.balance, s.account.made, s.account.slot, s.exception.args)",
        """\
import functools

class Problem(Exception):
    pass

class Base:
    __slots__ = ('slot',)

class Account(Base):
    def __init__(self):
        self._balance = 0
        self.slot = 0
        self.made = 0
        self._items = {}

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, value):
        self._balance = value

    @functools.cached_property
    def lazy(self):
        self.made += 1
        return self.made

    def cached(self, x):
        if not hasattr(self, '_cached'):
            self.made += 1
            self._cached = x
        return self._cached

    def __getitem__(self, key):
        return self._items[key]

    def __setitem__(self, key, value):
        self._items[key] = value
""",
    ),
    Family(
        "containers",
        "s.counter = collections.Counter(); s.default = collections.defaultdict(list); "
        "s.ordered = collections.OrderedDict(a=1); s.chain = collections.ChainMap({}, s.ordered)",
        (
            "s.counter['a'] += K",
            "s.counter.update('ab')",
            "out.append(s.counter.most_common(1))",
            "s.default['a'].append(K)",
            "out.append(dict(s.default))",
            "s.ordered.move_to_end('a')",
            "s.ordered['b'] = K",
            "out.append(list(s.ordered))",
            "out.append(s.ordered.popitem(last=False))",
            "out.append(s.chain.get('b'))",
            "s.chain['a'] = K",
        ),
        "(sorted(s.counter.items()), sorted(s.default.items()), list(s.ordered.items()))",
        "import collections\n",
    ),
    Family(
        "contexts",
        "s.context = contextvars.Context(); s.stack = contextlib.ExitStack(); s.left = []",
        (
            "out.append(s.context.run(twice, K))",
            "s.context.run(VARIABLE.set, K)",
            "out.append(s.context.get(VARIABLE))",
            "VARIABLE.set(K); out.append(VARIABLE.get())",
            "s.stack.callback(s.left.append, K)",
            "s.stack.close()",
            "out.append(list(s.left))",
            "out.append(s.stack.pop_all() is None)",
        ),
        "(s.left, s.context.get(VARIABLE))",
        """\
import contextlib
import contextvars

VARIABLE = contextvars.ContextVar('VARIABLE', default=0)

def twice(x):
    VARIABLE.set(2 * x)
    return VARIABLE.get()
""",
    ),
    Family(
        "process",
        "os.environ['BOHRBUG_ORACLE'] = '0'; random.seed(1); s.px = 0",
        (
            "os.environ['BOHRBUG_ORACLE'] = str(K)",
            "out.append(os.environ.get('BOHRBUG_ORACLE'))",
            "out.append(random.random())",
            "out.append(random.randrange(1000))",
            "random.seed(K)",
            "os.environ.pop('BOHRBUG_ORACLE')",
            "s.px = random.randrange(1000)",
        ),
        "(os.environ.get('BOHRBUG_ORACLE'), s.px)",
        "import os\nimport random\n",
    ),
    Family(
        "text",
        "s.words = 'a'; s.couple = (1, 2); s.figure = 1",
        (
            "s.words += 'b'",
            "out.append(s.words)",
            "s.couple = (K, K)",
            "out.append(s.couple[0] + s.couple[1])",
            "a, b = s.couple; out.append(a - b)",
            "s.figure *= K",
            "s.couple += (K,)",
            "out.append(f'{s.words} {s.figure}')",
            "s.figure, s.words = len(s.words), str(s.figure)",
        ),
        "(s.words, s.couple, s.figure)",
    ),
)
"""All of them."""
