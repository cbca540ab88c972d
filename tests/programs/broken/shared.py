"""Broken programs: what all threads of a process share."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import os
import sys
import tempfile
import unittest.mock

from tests.programs.together import together


def file_looked_at_then_made() -> None:
    """Both find that a file is not there, and make it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lock")
        made: list[str] = []

        def make() -> None:
            if not os.path.exists(path):
                open(path, "w").close()
                made.append(path)

        together(make, make)
        assert len(made) == 1


def file_read_while_it_is_written() -> None:
    """A file that is opened for writing is empty for a while."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "settings")

        def save() -> None:
            with open(path, mode="w", encoding="utf-8") as file:
                file.write("color=red")

        def load() -> None:
            with open(path, encoding="utf-8") as file:
                assert file.read() == "color=red"

        save()
        together(save, load)


def current_folder_is_everybodys() -> None:
    """A thread goes to a folder, and is in that of another."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:

        def work(folder: str) -> None:
            os.chdir(folder)
            assert os.getcwd() == folder

        try:
            together(
                functools.partial(work, os.path.realpath(one)),
                functools.partial(work, os.path.realpath(other)),
            )
        finally:
            os.chdir(before)


def handler_added_twice() -> None:
    """``if not logger.handlers: logger.addHandler(...)``: each line is logged twice."""
    logger = logging.Logger("broken")

    def configure() -> None:
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())

    together(configure, configure)
    assert len(logger.handlers) == 1


def output_redirected_by_two() -> None:
    """``redirect_stdout`` in two threads: what one prints comes to the other."""
    before = sys.stdout

    def work(name: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            print(name)
        assert output.getvalue() == f"{name}\n"

    try:
        together(lambda: work("ada"), lambda: work("bob"))
    finally:
        sys.stdout = before


def lines_printed_in_any_order() -> None:
    """Two threads print; the test expects one line first."""
    output = io.StringIO()
    together(lambda: print("ada", file=output), lambda: print("bob", file=output))
    assert output.getvalue() == "ada\nbob\n"


def mock_called_in_any_order() -> None:
    """Two threads call a mock; the test expects one call first."""
    mock = unittest.mock.Mock()
    together(lambda: mock("ada"), lambda: mock("bob"))
    mock.assert_has_calls([unittest.mock.call("ada"), unittest.mock.call("bob")])
