"""Random programs of a few statements, as the source of a module.

``outcome()`` of such a module starts its tasks, and returns what they saw and what is left.
"""

from __future__ import annotations

import random
import re
from textwrap import indent

from tests.oracle.families import FAMILIES

_MOST_STATEMENTS = {2: 3, 3: 2}

_HEAD = """\
import threading


class Shared:
    pass


def together(*tasks):
    threads = [threading.Thread(target=task, name=task.__name__) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


"""


def source_of(seed: int) -> str:
    """A program.

    Parameters:
        seed: decides which.
    """
    draw = random.Random(seed)
    families = draw.sample(FAMILIES, draw.choice((1, 1, 1, 2)))
    tasks = draw.choice((2, 2, 2, 3))
    statements = [statement for family in families for statement in family.statements]
    # Few different ones, so that they meet.
    some = draw.sample(statements, min(len(statements), draw.choice((2, 3, 4, 6))))
    declared = "".join(f"    global {family.assigned}\n" for family in families if family.assigned)
    lines = [_HEAD, *(family.before for family in families)]
    lines.append(f"\n\ndef begin(s):\n{declared}    s.lock = threading.Lock()\n")
    lines += [indent(family.made, "    ") + "\n" for family in families]
    for task in range(tasks):
        lines.append(f"\n\ndef task_{task}(s, out):\n{declared}")
        lines += [
            _guarded(draw, re.sub(r"\bK\b", str(draw.randint(1, 3)), draw.choice(some)))
            for _ in range(draw.randint(1, _MOST_STATEMENTS[tasks]))
        ]
    # An outcome is text: what is compared has nothing of the program's.
    lines.append("\n\ndef outcome():\n    s = Shared()\n    begin(s)\n")
    lines.append(f"    outs = [[] for _ in range({tasks})]\n")
    for task in range(tasks):
        lines.append(f"    def run_{task}():\n        task_{task}(s, outs[{task}])\n")
    lines.append(f"    together({', '.join(f'run_{task}' for task in range(tasks))})\n")
    shown = ", ".join(family.shown for family in families)
    # A task may have left something that even a look at it fails, such as a position below 0.
    lines.append(f"    try:\n        shown = ({shown},)\n")
    lines.append("    except Exception as error:\n        shown = type(error).__name__\n")
    lines.append("    return repr((outs, shown))\n")
    return "".join(lines)


def _guarded(draw: random.Random, statement: str) -> str:
    """A statement that notes its exception, and that may hold the lock."""
    if draw.random() < 0.2:
        statement = "with s.lock:\n" + indent(statement, "    ")
    caught = "except Exception as error:\n    out.append(type(error).__name__)\n"
    return indent(f"try:\n{indent(statement, '    ')}\n{caught}", "    ")
