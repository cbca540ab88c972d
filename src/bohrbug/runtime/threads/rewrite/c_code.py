"""What calls of code in C access, told just before they are made; operators have a module.

Such code is not rewritten. What is known of it is in a table (:mod:`.builtins_table`); what it
does to objects that it was not given, such as the container under an iterator, is asked of the
garbage collector. Most values are of types that need nothing told: that is looked at before whether
there is a sink.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable, Iterable
from types import (
    BuiltinFunctionType,
    FunctionType,
    GeneratorType,
    GenericAlias,
    MethodType,
    ModuleType,
)
from typing import Any

from bohrbug.accelerator import native, with_fast_path
from bohrbug.runtime.threads.replacement import Function
from bohrbug.runtime.threads.rewrite import (
    actions,
    actions_on_items,
    by_value,
    byte_buffers,
    calls_back,
    constructors,
    effects,
    families,
    files,
    formats,
    functions_table,
    given_back,
    halfway,
    item_functions,
    iteration,
    library_table,
    made_of_items,
    meanings,
    orders,
    partials,
    references,
    tell,
    unknown,
)
from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite.attributes import (
    PARTS_OF_FUNCTIONS,
    SKIP,
    STORED_PARTS,
    STORED_SPECIAL_METHODS,
    is_stored,
    raw_read_kind,
    raw_write_kind,
)
from bohrbug.runtime.threads.rewrite.classes import FOREIGN
from bohrbug.runtime.threads.rewrite.delegates import may_be_exchanged
from bohrbug.runtime.threads.rewrite.functions_table import MADE_AS
from bohrbug.runtime.threads.rewrite.inspected import Inspecting
from bohrbug.runtime.threads.rewrite.instance_dicts import KNOWN_DICTS
from bohrbug.runtime.threads.rewrite.made_silently import MADE_SILENTLY, is_made_by_unknown_code
from bohrbug.runtime.threads.rewrite.operands import READING
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.value_users import Collecting, Folding, Looking, User

# A test may put something else in the place of the builtin.
_length = len

_CONTAINER = families.CONTAINER

# --- Hook of class patterns ----------------------------------------------------------------------


# --- Hooks of calls ------------------------------------------------------------------------------

CALLED = unknown.CALLED
_FUNCTIONS = functions_table.FUNCTIONS
_METHODS = table.METHODS
_PLAIN_WRITE = effects.PLAIN_WRITE


@with_fast_path
def call0(callable_: Any, place: Place) -> None:
    """``callable_()`` is about to be called."""
    if halfway.intervals:
        halfway.end(sys._getframe(1))
    class_ = type(callable_)
    if class_ is MethodType and type(callable_.__func__) is FunctionType:
        if STORED_PARTS:
            _method_in_python(callable_, place)
        return
    if tell.active and CALLED[class_]:
        _CALLS.get(class_, _called_object)(callable_, (), place)


@with_fast_path
def call1(callable_: Any, first: Any, place: Place) -> None:
    """``callable_`` is about to be called with one positional argument."""
    if halfway.intervals:
        halfway.end(sys._getframe(1))
    class_ = type(callable_)
    if class_ is MethodType and type(callable_.__func__) is FunctionType:
        if STORED_PARTS:
            _method_in_python(callable_, place)
        return
    if tell.active and CALLED[class_]:
        _CALLS.get(class_, _called_object)(callable_, (first,), place)


@with_fast_path
def call2(callable_: Any, first: Any, second: Any, place: Place) -> None:
    """``callable_`` is about to be called with two positional arguments."""
    if halfway.intervals:
        halfway.end(sys._getframe(1))
    class_ = type(callable_)
    if class_ is MethodType and type(callable_.__func__) is FunctionType:
        if STORED_PARTS:
            _method_in_python(callable_, place)
        return
    if tell.active and CALLED[class_]:
        _CALLS.get(class_, _called_object)(callable_, (first, second), place)


@with_fast_path
def call3(callable_: Any, first: Any, second: Any, third: Any, place: Place) -> None:
    """``callable_`` is about to be called with three positional arguments or more."""
    if halfway.intervals:
        halfway.end(sys._getframe(1))
    class_ = type(callable_)
    if class_ is MethodType and type(callable_.__func__) is FunctionType:
        if STORED_PARTS:
            _method_in_python(callable_, place)
        return
    if tell.active and CALLED[class_]:
        _CALLS.get(class_, _called_object)(callable_, (first, second, third), place)


def further_argument(callable_: Any, value: Any, place: Place) -> None:
    """``callable_`` is about to be called with this argument, too: a later one, or by keyword."""
    class_ = type(callable_)
    if class_ is FunctionType or class_ is MethodType or not tell.active:
        return
    effect = None
    if class_ is BuiltinFunctionType or class_ is table.BuiltinMethod:
        effect = _effect_of_built_in(callable_)
    elif FOREIGN[class_] or (class_ is type and is_made_by_unknown_code(callable_)):
        effect = _UNKNOWN
    if effect is _UNKNOWN:
        _use_unknown(callable_, (value,), place)
    elif effect is not None and effect.action in _READING_ARGUMENTS:
        _use((value,), False, place)
    elif (
        effect is not None
        and effect.action is effects.FORMAT
        and formats.leads_on(callable_.__self__)
    ):
        # Which field it is for is not known.
        _use((value,), False, place)
    elif effect is not None and effect.calls_back and item_functions.note(value, place):
        # The call itself, which is told next, knows with what it is called.
        return
    elif effect is not None and (
        effect.consumes == effects.ALL or (effect.consumes and effect.action is effects.NOTHING)
    ):
        halfway.begin_if_any([iteration.consume_in_any_order(value, place)], None)
    elif effect is not None and (effect.by_value or effect.action is effects.PRINT):
        by_value.read((value,), place)


_READING_ARGUMENTS = (effects.READ_ARGUMENTS, effects.READ_ALL)


def minds_plain_values(callable_: Any) -> bool:
    """Whether a further argument that is a text, a number or ``None`` makes a difference.

    It is only assumed that code in C which no table knows may do anything with it.
    """
    class_ = type(callable_)
    if class_ is BuiltinFunctionType or class_ is table.BuiltinMethod:
        return _effect_of_built_in(callable_) is _UNKNOWN
    return FOREIGN[class_] or (class_ is type and is_made_by_unknown_code(callable_))


def call_star(callable_: Any, arguments: Any, place: Place) -> None:
    """``callable_(*arguments)`` is about to be called."""
    halfway.end_here()
    if not tell.active:
        return
    if type(arguments) is tuple:
        if CALLED[type(callable_)]:
            call(callable_, arguments, place)
    else:
        tell.in_one_step(place, _call_with_items, callable_, arguments, place)


def _call_with_items(callable_: Any, items: Any, place: Place) -> None:
    again = iteration.consume_in_any_order(items, place)
    if CALLED[type(callable_)]:
        # Of generators it is told below what they give.
        known = None if type(items) is GeneratorType else item_functions.items_of(items)
        call(callable_, tuple(known or ()), place)
        calling = Collecting(lambda values, place: call(callable_, values, place))
        halfway.begin_if_any([again], given_back.by_call([items], [calling]))


def call(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """A call of something that may be implemented in C."""
    _CALLS.get(type(callable_), _called_object)(callable_, arguments, place)


def _built_in(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    owner = callable_.__self__
    if type(owner) not in _OWNERS_OF_FUNCTIONS:
        _method(owner, callable_.__name__, arguments, place)
        return
    effect = _FUNCTIONS.get(callable_) or _effect_of_function(callable_)
    if effect is _UNKNOWN:
        _use_unknown(callable_, arguments, place)
    elif effect is not _HARMLESS:
        _apply(effect, None, arguments, place)


_UNKNOWN = library_table.UNKNOWN
_HARMLESS = library_table.HARMLESS
_OWNERS_OF_FUNCTIONS = table.OWNERS_OF_FUNCTIONS


def _effect_of_function(function: Any) -> effects.Effect:
    """What a function of a module does; known from then on."""
    known = _FUNCTIONS.get(function)
    if known is None:
        known = library_table.effect_of(function)
        if type(function.__self__) is ModuleType:
            _FUNCTIONS[function] = known
    return known


def _effect_of_built_in(callable_: Any) -> effects.Effect | None:
    """What a function or a bound method in C does; ``None``: nothing of which something is told."""
    owner = callable_.__self__
    if type(owner) in _OWNERS_OF_FUNCTIONS:
        return _effect_of_function(callable_)
    known = _METHODS[type(owner)].get(callable_.__name__)
    return _UNKNOWN if known is None and FOREIGN[type(owner)] else known


def _use_unknown(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """Code in C is called that no table knows: what it reaches is read and written."""
    _use(arguments, True, place)
    name = unknown.name_of_function(callable_)
    unknown.assume(place, name)

    def use(values: tuple[Any, ...], place: Place) -> None:
        _use(values, True, place)
        unknown.assume(place, name)

    # Methods are called with their object, too.
    again = [meanings.telling_again(each, True) for each in arguments if FOREIGN[type(each)]]
    halfway.begin_if_any(again, given_back.by_call(arguments, [Collecting(use)]))


def _use(things: Iterable[Any], is_write: bool, place: Place) -> None:
    """Code in C reads, and perhaps writes, what it is given, and all that hangs on it."""
    # To find what it may reach takes long.
    if tell.passes_on():
        tell.in_one_step(place, _tell_use, tuple(things), is_write, place)


def _tell_use(things: Iterable[Any], is_write: bool, place: Place) -> None:
    for thing, writes in list(unknown.reached(things, is_write)):
        if table.is_stream(type(thing)):
            _apply(_METHODS[type(thing)]["tell"], thing, (), place)
        elif table.ITERATORS[type(thing)]:
            iteration.advance(thing, place)
        else:
            meanings.tell_attributes(thing, writes, place)


def _bound_method(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    inner = callable_.__func__
    # A function in Python tells its accesses itself.
    if type(inner) is not FunctionType and CALLED[type(inner)]:
        call(inner, (callable_.__self__, *arguments), place)


def _alias(alias: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """``list[int](...)``."""
    if CALLED[type(alias.__origin__)]:
        call(alias.__origin__, arguments, place)


def _class(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if MADE_SILENTLY[callable_]:
        return
    if _length(arguments) == 3 and issubclass(callable_, type):
        constructors.Making.class_of(arguments[2])
    if callable_ is type:
        if _length(arguments) == 1:
            meanings.read_class(arguments[0], place)
        elif _length(arguments) > 1 and type(arguments[1]) is tuple:
            actions.tell_subclasses(arguments[1], True, place)
        return
    if STORED_SPECIAL_METHODS and may_be_exchanged(callable_):
        tell.in_one_step(place, _look_for_constructor, callable_, place)
    made_as = MADE_AS[callable_]
    teller = constructors.TELLERS[callable_]
    if teller is not None:
        teller(callable_, arguments, place)
    elif made_as is str:
        by_value.read(arguments[:1], place)
    elif made_as in functions_table.CONSTRUCTORS:
        made_of_items.construct(made_as, arguments, place)
    elif references.MAKES_REFERENCES[callable_]:
        references.make(callable_, arguments, place)
    elif is_made_by_unknown_code(callable_):
        _use_unknown(callable_, arguments, place)
    elif callable_ in READING:
        for argument in arguments:
            if FOREIGN[type(argument)]:
                meanings.tell_whole(argument, False, place)


def _look_for_constructor(class_: type, place: Place) -> None:
    for special in ("__new__", "__init__"):
        meanings.look_for_special_method(class_, special, place)


def _called_object(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """An object that is a function in all but name, as those of Cython, and weak references."""
    called_as = partials.CALLED_AS[type(callable_)]
    if called_as in calls_back.TELLING:
        calls_back.TELLING[called_as](callable_, arguments, place)
        return
    if issubclass(type(callable_), type):
        _class(callable_, arguments, place)
        return
    effect = _METHODS[type(callable_)].get("__call__")
    if families.CALL[type(callable_)] is families.DELEGATED:
        meanings.tell_special_method(callable_, "__call__", arguments, place)
    elif effect is None:
        is_function = unknown.IS_LIKE_A_FUNCTION[type(callable_)]
        owners = unknown.bound_to(callable_) if is_function else (callable_,)
        _use_unknown(callable_, (*owners, *arguments), place)
    elif effect.action == references.CALL:
        references.call(callable_, arguments, place)
        calls_back.tell_held(callable_, place)
    else:
        _apply(effect, callable_ if effect.calls else None, arguments, place)


def _method_in_python(method: Any, place: Place) -> None:
    if tell.active:
        _python_function(method.__func__, (), place)


def _python_function(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """Its parts are read, which matters where code exchanges them."""
    for name in PARTS_OF_FUNCTIONS:
        if is_stored(name):
            tell.attribute(callable_, name, False, place)
    defaults = callable_.__kwdefaults__
    if type(defaults) is dict and is_stored("__kwdefaults__"):
        meanings.tell_whole(defaults, False, place)


def _replacement(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    effect = _EFFECTS_BY_IDENTITY.get(callable_.identity_of_original)
    if effect is not None:
        _apply(effect, None, arguments, place)


_EFFECTS_BY_IDENTITY = {id(function): effect for function, effect in _FUNCTIONS.items()}


def _method_of_object(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    _method(callable_.__self__, callable_.__name__, arguments, place)


def _method_of_class(callable_: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if arguments:
        _method(arguments[0], callable_.__name__, arguments[1:], place)


_CALLS: dict[type, Callable[[Any, tuple[Any, ...], Place], None]] = {
    BuiltinFunctionType: _built_in,
    table.BuiltinMethod: _built_in,
    MethodType: _bound_method,
    type: _class,
    GenericAlias: _alias,
    table.MethodWrapper: _method_of_object,
    table.MethodDescriptor: _method_of_class,
    table.WrapperDescriptor: _method_of_class,
    Function: _replacement,
    FunctionType: _python_function,
    **calls_back.TELLING,
}
"""For each of the types :data:`~.builtins_table.CALLABLE_TYPES`, and functions in Python."""


def _method(owner: Any, name: str, arguments: tuple[Any, ...], place: Place) -> None:
    effect = _METHODS[type(owner)].get(name)
    if name == "pop" and type(owner) is set:
        orders.note(owner, place)
    if effect is not None:
        if effect is _PLAIN_WRITE and not KNOWN_DICTS:
            tell.whole(owner, True, place)
        else:
            _apply(effect, owner, arguments, place)
    elif name in table.OBJECT_METHODS and arguments and type(arguments[0]) is str:
        attribute = arguments[0]
        is_write = name != "__getattribute__"
        kind = (raw_write_kind if is_write else raw_read_kind)(type(owner), attribute)
        if kind is not SKIP:
            meanings.tell_attribute(owner, attribute, kind, is_write, place)
    elif name in _READING_ALL_ATTRIBUTES:
        _use((owner,), False, place)
    elif FOREIGN[type(owner)]:
        _use((owner, *arguments), True, place)
        unknown.assume(place, f"{unknown.name_of_class(type(owner))}.{name}")
        halfway.begin(meanings.telling_again(owner, True))
    elif name == "__call__":
        if CALLED[type(owner)]:
            call(owner, arguments, place)
    elif name == "__new__" and issubclass(type(owner), type):
        if _length(arguments) == 4 and issubclass(owner, type):
            constructors.Making.class_of(arguments[3])
        elif owner in made_of_items.MADE_BY_NEW:
            made_of_items.construct(owner, arguments[1:], place)
    elif name == "__subclasses__":
        actions.tell_subclasses((owner,), False, place)
    elif issubclass(type(owner), type) and name in _MAKING_OF_ITEMS:
        actions_on_items.read_arguments(owner, arguments, place)
    elif not issubclass(type(owner), type) or constructors.tell_method(owner, name, place):
        return
    elif FOREIGN[owner]:
        _use(arguments, True, place)
        unknown.assume(place, f"{unknown.name_of_class(owner)}.{name}")


_MAKING_OF_ITEMS = frozenset(
    {"fromkeys", "from_bytes", "maketrans", "from_buffer", "from_buffer_copy"}
)
"""Methods of classes that make an object of the items of what they are given."""

_READING_ALL_ATTRIBUTES = frozenset({"__reduce_ex__", "__reduce__", "__getstate__"})


def _apply(effect: effects.Effect, owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """Tell what a call does."""
    if effect.action is effects.ASK_INTERPRETER:
        Inspecting.ask(effect.state, place)
        return
    if effect.state:
        is_write = effect.action is effects.WRITE_STATE or (
            effect.action is effects.USE_STATE and bool(arguments) and arguments[-1] is not None
        )
        files.use_state(effect.state, is_write, place)
        return
    if effect.takes_owner_from_arguments:
        if not arguments:
            return
        owner = arguments[0]
        arguments = arguments[1:]
    if effect.consumes == effects.ALL:
        consumed = [*arguments]
    else:
        consumed = [arguments[index] for index in effect.consumes if index < _length(arguments)]
    has_more = effect.by_value or effect.leads_on or effect.reads_all or effect.fills
    if consumed or has_more or effect.calls_back:
        function = item_functions.take(place) if effect.calls_back else None
        again = tell.in_one_step(
            place, _tell_all, effect, owner, arguments, consumed, function, place
        )
    else:
        again = [_ACTIONS[effect.action](owner, arguments, place)]
    if effect.calls_back:
        if effect.action is not effects.NOTHING:
            again.append(_telling_again(effect, owner))
            if effect.leads_on:
                again.append(halfway.Telling(owner, _use_again))
        elif consumed and _CONTAINER[type(consumed[0])]:
            again.append(meanings.telling_again(consumed[0], False))
        halfway.begin_if_any(again, _receiver(effect, owner, arguments, consumed, function))


def _telling_again(effect: effects.Effect, owner: Any) -> halfway.Tell:
    if effect.action is effects.WRITE_STREAM:
        return halfway.Telling(owner, _act, effect.action)
    return meanings.telling_again(owner, effect.action is effects.WRITE)


def _act(owner: Any, action: str, place: Place) -> None:
    _ACTIONS[action](owner, (), place)


def _use_again(owner: Any, place: Place) -> None:
    _use((owner,), True, place)


def _receiver(
    effect: effects.Effect,
    owner: Any,
    arguments: tuple[Any, ...],
    consumed: list[Any],
    function: Any,
) -> halfway.Receiver | None:
    """What is done with the values that functions give back to a call with an effect."""
    users: list[User] = []
    if effect.calls == effects.FOLDS:
        if item_functions.is_in_c(owner):
            users = [Folding(owner, *arguments[1:2])]
    elif effect.by_value:
        users = [Looking(keeps=not effect.at_once)]
    elif effect.reads_all or effect.action is effects.READ_ALL or effect.action is effects.PICKLE:
        users = [Collecting(lambda values, place: _use(values, False, place))]
        return given_back.GivenBack(users)
    things = [owner, *arguments] if effect.action is effects.CONSUME else consumed
    return given_back.by_call(things, users, function)


def _tell_all(
    effect: effects.Effect,
    owner: Any,
    arguments: tuple[Any, ...],
    consumed: list[Any],
    function: Callable[..., Any] | None,
    place: Place,
) -> list[iteration.Tell | None]:
    """What tells of iterators again, in the middle."""
    again = [iteration.consume_in_any_order(argument, place) for argument in consumed]
    if effect.leads_on:
        _use((owner,), True, place)
    if effect.reads_all:
        _use(arguments[:1], False, place)
    if effect.fills:
        for buffer in arguments[:1]:
            byte_buffers.fill(buffer, place)
    again.append(_ACTIONS[effect.action](owner, arguments, place))
    if effect.calls_back:
        in_c = function if item_functions.is_in_c(function) else None
        calls_back.tell_given(effect, owner, arguments, in_c, place)
    if effect.by_value:
        picked = item_functions.picked_by((owner, *arguments))
        by_value.read((owner, *arguments, *picked), place, (owner, *consumed))
    return again


def _read_all(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """The first argument and what hangs on it is read; another one is a stream to write to."""
    _use(arguments if owner is None else (owner, *arguments), False, place)
    if arguments and _CONTAINER[type(arguments[0])]:
        # Objects in it may have something to say to how they are written.
        halfway.begin(meanings.telling_again(arguments[0], False))


def _pickle(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_pickled, arguments, place)


def _tell_pickled(arguments: tuple[Any, ...], place: Place) -> None:
    meanings.tell_whole(copyreg.dispatch_table, False, place)
    _read_all(None, arguments, place)


_ACTIONS: dict[str, Callable[[Any, tuple[Any, ...], Place], iteration.Tell | None]] = {
    effects.READ_ALL: _read_all,
    effects.PICKLE: _pickle,
    **actions.ACTIONS,
    **actions_on_items.ACTIONS,
    **files.ACTIONS,
    **references.ACTIONS,
}

iteration.Calls.tell = staticmethod(call)
iteration.Calls.apply = staticmethod(_apply)

if native is not None:
    native.use_calls(
        STORED_PARTS,
        CALLED,
        _CALLS,
        _METHODS,
        _FUNCTIONS,
        _method_in_python,
        _called_object,
        _HARMLESS,
        _PLAIN_WRITE,
        MADE_SILENTLY,
    )
