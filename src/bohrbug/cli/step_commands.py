"""The commands of ``bohrbug step``: their names, and what a line means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CommandError(ValueError):
    """A line is no command; the message says what there is."""


class Takes(Enum):
    """What may follow the name of a command."""

    NOTHING = ""
    NUMBER = "[N]"
    TASK = "[TASK]"
    FILE = "[FILE]"


@dataclass(frozen=True, slots=True)
class Description:
    """A command.

    Parameters:
        name: what to type; the beginning of it is enough where no other command begins so.
        letter: short for it.
        takes: what may follow.
        help: one line.
    """

    name: str
    letter: str
    takes: Takes
    help: str


COMMANDS: tuple[Description, ...] = (
    Description("next", "n", Takes.NUMBER, "go on, by the plan or without preemption"),
    Description("preemption", "p", Takes.NOTHING, "go on to the next preemption of the plan"),
    Description("block", "b", Takes.TASK, "go on until a task blocks, or this one"),
    Description("end", "e", Takes.NOTHING, "go on to the end"),
    Description("undo", "u", Takes.NUMBER, "go back one decision, or N"),
    Description("restart", "r", Takes.NOTHING, "go back to the first decision"),
    Description("view", "v", Takes.NOTHING, "show the decision again"),
    Description("history", "h", Takes.NOTHING, "show all steps done so far"),
    Description("lanes", "", Takes.NUMBER, "at each stop: the last steps, one column per task"),
    Description("stacks", "s", Takes.TASK, "show where tasks stand, or this one"),
    Description("held", "", Takes.NOTHING, "show who holds what, and who waits for it"),
    Description("list", "l", Takes.TASK, "list the source where a task stands"),
    Description("save", "w", Takes.FILE, "run this execution to its end and write it to a file"),
    Description("quit", "q", Takes.NOTHING, "leave"),
    Description("help", "?", Takes.NOTHING, "show this"),
)

CHOOSE = "choose"


@dataclass(frozen=True, slots=True)
class Command:
    """A line that was understood.

    Parameters:
        name: of :data:`COMMANDS`, or ``choose``.
        argument: what followed; for ``choose`` the number or the id of a task.
        number: the same as a number, for commands that take one.
    """

    name: str
    argument: str = ""
    number: int = 1


def parse(line: str) -> Command | None:
    """What a line means; ``None`` for an empty line or a comment.

    Raises:
        CommandError: nothing.
    """
    words = line.split(maxsplit=1)
    if not words or words[0].startswith("#"):
        return None
    word, argument = words[0], words[1].strip() if len(words) > 1 else ""
    if word[0].isdigit():
        if argument:
            raise CommandError(f"one task at a time: {line.strip()!r}")
        return Command(CHOOSE, word)
    description = _named(word)
    if argument and description.takes is Takes.NOTHING:
        raise CommandError(f"{description.name} takes nothing: {line.strip()!r}")
    if description.takes is Takes.NUMBER and argument:
        if not argument.isdigit() or not int(argument):
            raise CommandError(f"{description.name} takes a number from 1 on, not {argument!r}")
        return Command(description.name, argument, int(argument))
    return Command(description.name, argument)


def _named(word: str) -> Description:
    for description in COMMANDS:
        if word in (description.name, description.letter):
            return description
    found = [description for description in COMMANDS if description.name.startswith(word)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(description.name for description in found)
        raise CommandError(f"{word!r} can mean {names}")
    names = ", ".join(description.name for description in COMMANDS)
    raise CommandError(f"there is no command {word!r}; there are: a number or a task, {names}")


def help_lines() -> list[str]:
    """All commands, one per line."""
    rows = [("1, 2, ... or a task's id", "", "let this task run, or choose this value")]
    rows += [
        (f"{each.name} {each.takes.value}".rstrip(), each.letter, each.help) for each in COMMANDS
    ]
    width = max(len(row[0]) for row in rows)
    return [f"  {name:<{width}}  {letter:<2} {words}" for name, letter, words in rows]
