"""The documentation: what is in its blocks of code is what it seems to be.

Each block is parsed and, where it can be, run: Python here, consoles in
``tests/end_to_end/test_documented_outputs.py``, the commands of shells beside that, in
``test_documented_commands.py``.  What is left out stands in a table with the reason, or with the
test that checks it; a new block has to get its place.
"""

from __future__ import annotations

import ast
import asyncio
import configparser
import copy
import importlib
import json
import re
import textwrap
import threading
import tomllib
from typing import Any

import click
import pytest
import yaml

import bohrbug
import bohrbug_entry.pytest_plugin
from bohrbug.cli import main
from bohrbug.model.serialise import plan_from_json, plan_to_json
from bohrbug.settings import TABLE, SettingsError, checked
from tests.documentation import BLOCKS, PAGES, ROOT, Block, commands_of, spans_of

MESSAGES = {"record": "messages", "replay-messages": "messages", "messages": "message_logs"}
"""Commands that are not loaded with the others, and their modules."""

FRAGMENTS = {
    ("docs/architecture.md", "if native is not None:"): "a line of the source",
    ("docs/development.md", "patches = Patches()"): "for a class that does not exist",
    (
        "docs/development.md",
        "stream = current()  # the task's; None where nothing is recorded or replayed",
    ): "a pattern",
    (
        "docs/how-to/report-a-bug-with-a-proof.md",
        "TURNS = [",
    ): "of what tests/end_to_end/test_export.py runs",
    (
        "docs/reference/api.md",
        "from bohrbug.exploration.reproduction import read_reproduction",
    ): "a file and its function",
    (
        "docs/reference/messages.md",
        'with bohrbug.record("order.bohrbug", digests=False) as path:',
    ): "tests/end_to_end/test_messages.py",
}
"""Python that can be compiled, but not run by itself, and why or where it is."""

FRAGMENTS_IN_C = {
    ("docs/development.md", "EXPORT int gate_wait(gate_t *gate) {"): "of a function that is none",
    ("docs/explanation/native.md", "pthread_mutex_unlock(&lock);"): "two lines to talk about",
}

OWN_FILE = re.compile(r"`\w+\.py`[^\n`]*:\n\n\Z")
"""Before a program for the commands on its page: these run it, where they are run."""


def in_language(*languages: str) -> Any:
    found = [block for block in BLOCKS if block.language in languages]
    return pytest.mark.parametrize("block", found, ids=str)


def test_each_block_is_in_a_language_that_is_checked() -> None:
    known = {"", "c", "ini", "json", "python", "sh", "toml", "yaml"}
    assert not [str(block) for block in BLOCKS if block.language not in known]


def test_fragments_are_still_there() -> None:
    assert FRAGMENTS.keys() <= {block.key for block in BLOCKS if block.language == "python"}


def test_the_tutorial_shows_the_test_that_it_runs() -> None:
    page = "docs/tutorial-real-bug.md"
    (block,) = (each for each in BLOCKS if (each.page, each.language) == (page, "python"))
    assert block.text in (ROOT / "examples/real/pykka/test_pykka.py").read_text("utf-8")


def test_nothing_in_c_is_new() -> None:
    assert FRAGMENTS_IN_C.keys() == {block.key for block in BLOCKS if block.language == "c"}


def test_code_stands_in_fences() -> None:
    # What is only indented would not be looked at.
    for page in PAGES:
        outside = "".join(re.split(r"^ *```.*?^ *```$", page.read_text("utf-8"), flags=re.M | re.S))
        assert not re.search(r"\n\n {4,}(?:bohrbug|pytest|python|pip|cc|tools/)\b", outside), page


@in_language("python")
def test_python_can_be_run(block: Block) -> None:
    text = textwrap.dedent(block.text)
    if block.key in FRAGMENTS:
        ast.parse(f"def fragment():\n{textwrap.indent(text, '    ')}")
        return
    code = compile(text, block.page, "exec")
    if OWN_FILE.search(block.before):
        return
    names: dict[str, Any] = {"asyncio": asyncio, "bohrbug": bohrbug, "pytest": pytest}
    names |= {"threading": threading, "json": json, "lock": threading.Lock()}
    # What the pages ask of their readers to have.
    names |= {"function": _passes, "f": _passes, "plan": plan_from_json(_PLAN)}
    exec(code, names)
    for name, value in names.items():
        for mark in getattr(value, "pytestmark", ()):
            assert mark.name == "bohrbug", name
            checked(mark.kwargs, name)


def _passes() -> None:
    pass


_PLAN = {"format": "bohrbug-plan", "version": 1, "prefix": [], "policy": {"name": "non-preemptive"}}


@in_language("json")
def test_json_is_read(block: Block) -> None:
    content = json.loads(block.text)
    if isinstance(content, dict) and content.get("format") == "bohrbug-plan":
        assert plan_to_json(plan_from_json(content))["prefix"] == content["prefix"]


@in_language("toml")
def test_toml_has_settings_that_exist(block: Block) -> None:
    content = tomllib.loads(block.text)
    assert checked(content["tool"]["bohrbug"], f"[{TABLE}]")


def test_a_setting_that_does_not_exist_is_told_as_shown() -> None:
    with pytest.raises(SettingsError, match=r"there is no option 'bond'; did you mean 'bound'\?"):
        checked({"bond": 3}, "pyproject.toml, [tool.bohrbug]")


@in_language("ini")
def test_ini_files_have_settings_that_exist(block: Block, pytestconfig: pytest.Config) -> None:
    content = configparser.ConfigParser()
    content.read_string(block.text)
    for name in content["pytest"]:
        pytestconfig.getini(name)  # raises ValueError for a name that there is not


@in_language("yaml")
def test_yaml_is_a_workflow(block: Block) -> None:
    # What its steps run: tests/end_to_end/test_workflow.py.
    content = yaml.safe_load(block.text)
    assert content["jobs"]


@in_language("sh")
def test_commands_have_the_options_they_are_given(block: Block) -> None:
    assert check_commands(block.text)


def check_commands(text: str) -> int:
    """Let click and pytest read the commands of a shell; return how many there are."""
    read = 0
    for name, *arguments in commands_of(text):
        read += 1
        if name == "bohrbug":
            read_by_click(arguments)
        elif name == "pytest":
            read_by_pytest(arguments)
    return read


def read_by_click(arguments: list[str]) -> None:
    name, *rest = arguments
    if name == "--version":
        return
    command = command_named(name)
    while isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        _, found, rest = command.resolve_command(context, rest)
        assert found, arguments
        command = found
    command = copy.copy(command)
    command.params = copy.deepcopy(command.params)
    # Files need not exist here.
    for parameter in command.params:
        if isinstance(parameter.type, click.Path):
            parameter.type.exists = False
    command.make_context(name, rest)


def command_named(name: str) -> click.Command:
    if name in MESSAGES:
        module = importlib.import_module(f"bohrbug.cli.{MESSAGES[name]}")
        found = getattr(module, name.replace("-", "_"))
    else:
        found = main.commands[name]
    assert isinstance(found, click.Command)
    return found


def read_by_pytest(arguments: list[str]) -> None:
    parser = pytest.Parser(_ispytest=True)
    bohrbug_entry.pytest_plugin.pytest_addoption(parser)
    others = parser.getgroup("pytest and its other plugins")
    others._addoption("--numprocesses", "-n", type=int)
    others._addoption("--quiet", "-q", action="store_true")
    others._addoption("--verbose", "-v", action="store_true")
    parser.parse(arguments)


OURS = {
    "tools/pythons": {"--get", "--missing"},
    "tests/conftest.py": {"--part"},
    "benchmarks": {
        "--base-python",
        "--cache",
        "--families",
        "--json",
        "--program",
        "--quick",
        "--tool",
    },
}
"""Options of scripts of the project, and where these are."""

FOREIGN = {
    "pytest": {
        "--benchmark-disable",
        "--capture",
        "--junit-xml",
        "--junitxml",
        "--pyargs",
        "--setup-only",
        "--setup-show",
        "--tb",
    },
    "setuptools, cibuildwheel": {"--inplace", "--print-build-identifiers"},
    "CPython's configure": {"--with-thread-sanitizer"},
    "programs that are explored": {"--io-threads", "--max-threads", "--parallel", "--param"},
}
"""Options that are not Bohrbug's, and whose they are."""


def test_options_in_the_text_exist() -> None:
    known = {"--name", "--bohrbug-name"}  # stand for the names of all options
    commands = [*main.commands.values(), *map(command_named, MESSAGES)]
    for command in commands:  # grows while it is looked through
        commands += command.commands.values() if isinstance(command, click.Group) else []
        known |= {"--help", "--version"}
        known |= {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    parser = pytest.Parser(_ispytest=True)
    bohrbug_entry.pytest_plugin.pytest_addoption(parser)
    for group in parser._groups:
        known |= {name for option in group.options for name in option.names()}
    known |= set().union(*OURS.values(), *FOREIGN.values())
    used = {
        option: f"{page.relative_to(ROOT)}: {span}"
        for page in PAGES
        for span in spans_of(page)
        # Not the beginning of names, as in --bohrbug-...
        for option in re.findall(r"(?<![\w-])--[a-z](?:[\w-]*\w)?(?![\w-])", span)
    }
    assert {o: where for o, where in used.items() if o not in known} == {}
