"""Help texts and the reference of options say what is so."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import click
from click.testing import CliRunner

from bohrbug.cli import main
from bohrbug.cli.help import OTHERS, SECTIONS, default_in_words
from bohrbug.cli.live import live
from bohrbug.exploration.options import ExploreOptions
from bohrbug.live.options import LiveOptions
from bohrbug.settings import OPTIONS

ROUNDS = ("budget", "window", "fragments", "patience", "history", "seed")
HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "run-live.md"
REFERENCE = Path(__file__).parent.parent.parent / "docs" / "reference" / "options.md"


def test_each_option_of_run_stands_in_one_section() -> None:
    told = CliRunner().invoke(main, ["run", "--help"]).output
    for option in main.commands["run"].params:
        if isinstance(option, click.Option):
            assert len(re.findall(rf"^  (?:\S+, )?{option.opts[-1]}\s", told, re.MULTILINE)) == 1, (
                option.opts
            )
    others = told.partition(f"{OTHERS}:")[2]
    assert re.findall(r"--([a-z-]+)", others) == ["json", "verbose", "quiet", "html", "help"]


def test_each_option_of_live_tells_its_default() -> None:
    told = CliRunner().invoke(live, ["--help"]).output
    for flag in ROUNDS:
        default = getattr(LiveOptions(), flag)
        assert re.search(rf"--{flag} \w+ [^[]*\[default:\s+{default:g}\]", told), flag


def test_the_how_to_has_all_options_of_rounds_and_their_defaults() -> None:
    rows = dict(re.findall(r"^\| `--([a-z]+) \w+` \| ([^|]+) \|", HOW_TO.read_text("utf-8"), re.M))
    for flag in ROUNDS:
        assert rows[flag] == f"{getattr(LiveOptions(), flag):g}"


def test_sections_name_options_that_exist() -> None:
    there = {option.name for option in [*main.commands["run"].params, *live.params]}
    assert {name for names in SECTIONS.values() for name in names} <= there


def test_defaults_are_told() -> None:
    told = CliRunner().invoke(main, ["run", "--help"]).output
    assert re.search(r"--executions N [^[]*\[default:\s+1000\]", told)
    assert re.search(r"--seed N .*\[default:\s+0\]", told)
    # What an exploration had that is resumed is not known here.
    assert "default" not in CliRunner().invoke(main, ["resume", "--help"]).output


def test_the_reference_has_all_options_and_their_defaults() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*?\| ([^|]+) \|[^|]*\|$", REFERENCE.read_text("utf-8"), re.M)
    told = {name: default.replace("`", "").partition(";")[0] for name, default in rows}
    for option in OPTIONS:
        default = default_in_words(option.name)
        if default:
            assert told[option.name] == default
    assert {field.name for field in fields(ExploreOptions)} - set(told) == {"epoch", "uptime"}


def test_a_number_that_was_left_out_before_a_program() -> None:
    """The program is not taken for it without a word of what to do."""
    told = CliRunner().invoke(main, ["run", "--sample-accesses", "./server"])
    assert told.exit_code == 2
    assert "write '--' before the program: --sample-accesses -- ./server" in told.output
    outside = CliRunner().invoke(main, ["run", "--sample-accesses", "9", "./server"])
    assert "9 is not in the range 1<=x<=3" in outside.output


def test_each_command_tells_its_exit_codes() -> None:
    commands = ["run", "resume", "replay", "explain", "step", "record", "replay-messages"]
    for name in [*commands, "messages show", "messages diff"]:
        told = CliRunner().invoke(main, [*name.split(), "--help"]).output
        options, _, codes = told.partition("Exit codes")
        assert "--help" in options, name
        assert re.search(r"^    2 +\S", codes, re.MULTILINE), name
        assert max(map(len, told.splitlines())) <= 80, name
