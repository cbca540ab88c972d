"""``bohrbug live`` with native programs."""

from __future__ import annotations

import platform
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.end_to_end.conftest import SECONDS, Folder
from tests.end_to_end.live_programs import left
from tests.native.building import build, need_native

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="live rounds need Linux"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="fibers need x86-64"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_native()
    return tmp_path_factory.mktemp("live")


def test_a_bug_is_found_in_the_run_itself_and_can_be_replayed(folder: Folder, built: Path) -> None:
    program = str(build(built, "live.c"))
    done = folder.bohrbug("live", "--history", "1000000", "--", program, "pool", "50000")
    assert done.code == 1, done.out + done.err
    assert "Assertion `!used[found]' failed" in done.err
    assert "found by live rounds" in done.err
    assert "A replay may differ" not in done.err
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert "reproduced in 1 of 1 replay" in replayed.out, replayed.out + replayed.err
    assert left(folder) == []


def test_a_deadlock_is_found(folder: Folder, built: Path) -> None:
    program = str(build(built, "live.c"))
    done = folder.bohrbug("live", "--", program, "deadlock", "20000")
    assert done.code == 1, done.out + done.err
    assert "2 tasks wait for each other" in done.err
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert "reproduced in 1 of 1 replay" in replayed.out, replayed.out + replayed.err


def test_with_nothing_to_find_all_is_as_always(folder: Folder, built: Path) -> None:
    command = [str(build(built, "live.c")), "fine", "20000"]
    native = folder.run(command)
    live = folder.bohrbug("live", "--budget", "60", "--", *command)
    assert (live.code, live.out) == (native.code, native.out)
    assert live.err.startswith("last\nbohrbug: no failure in ")
    assert "reached the end of their window" in live.err
    assert folder.reproductions() == []
    quiet = folder.bohrbug("live", "-q", "--", *command)
    assert (quiet.code, quiet.out, quiet.err) == (native.code, native.out, native.err)


def test_another_exit_code_is_a_failure_where_one_is_asked_for(folder: Folder, built: Path) -> None:
    command = [str(build(built, "live.c")), "lost", "20000"]
    done = folder.bohrbug("live", "--exit-code", "0", "--", *command)
    assert done.code == 1
    assert "exit code 1 instead of 0" in done.err
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert "reproduced in 1 of 1 replay" in replayed.out, replayed.out + replayed.err


def test_files_and_children_are_the_programs_own(folder: Folder, built: Path) -> None:
    program = str(build(built, "live.c"))
    done = folder.bohrbug("live", "--budget", "90", "--", program, "lines", "100")
    assert done.code == 0, done.err
    lines = (folder.path / "lines.txt").read_text().splitlines()
    assert sorted(lines) == sorted(f"{n} {count}" for n in range(3) for count in range(100))
    done = folder.bohrbug("live", "--budget", "90", "--", program, "children", "3000")
    assert done.code == 0, done.err
    assert done.out == "told 3 times\n"
    assert left(folder) == []


def test_what_is_forgotten_changes_nothing(folder: Folder, built: Path) -> None:
    program = str(build(built, "live.c"))
    done = folder.bohrbug("live", "--history", "500", "--", program, "fine", "20000")
    assert (done.code, done.out) == (7, "60000\n"), done.err
    # More threads and mutexes than there is room for.
    done = folder.bohrbug("live", "--", program, "threads", "400")
    assert (done.code, done.out) == (0, "1600\n"), done.err


def test_a_long_run_keeps_its_last_steps_only(folder: Folder, built: Path) -> None:
    program = str(build(built, "live.c"))
    done = folder.bohrbug("live", "--", program, "threads then pool", "50000")
    assert done.code == 1, done.err
    assert "Assertion `!used[found]' failed" in done.err
    assert "It can't be replayed" in done.err
    assert folder.reproductions() == []


def test_data_races_are_told(folder: Folder, built: Path) -> None:
    program = str(build(built, "live.c", "-fsanitize=thread"))
    done = folder.bohrbug("live", "--", program, "race", "20")
    assert done.code == 0, done.err
    assert "Data races: 1" in done.err
    assert "live.c" in done.err


def _served(folder: Folder, program: Path) -> tuple[int, str, list[bytes]]:
    """Serve some clients; exit code, what was said, and wrong answers."""
    command = folder.command("live", "--budget", "50", "--", str(program))
    with subprocess.Popen(
        command,
        cwd=folder.path,
        env=folder.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        wrong: list[bytes] = []

        def ask(number: int) -> None:
            try:
                connection = socket.create_connection(("127.0.0.1", port), SECONDS)
            except OSError:
                # It has failed already.
                return
            with connection:
                for count in range(400):
                    line = b"%d %d\n" % (number, count)
                    try:
                        connection.sendall(line)
                        answer = connection.recv(64)
                    except OSError:
                        answer = b""
                    if not answer:
                        return
                    if answer != line:
                        wrong.append(answer)

        clients = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        # After a failure it is on its way out, and is not to be interrupted.
        if "BUGGY" not in program.name:
            process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=SECONDS)
        return process.returncode, err, wrong


def test_clients_of_a_server_see_no_fragment(folder: Folder, built: Path) -> None:
    code, err, wrong = _served(folder, build(built, "live_server.c"))
    assert wrong == []
    assert code == 0, err
    assert "no failure in" in err
    assert left(folder) == []


def test_a_bug_of_a_server_is_found_under_load(folder: Folder, built: Path) -> None:
    code, err, wrong = _served(folder, build(built, "live_server.c", "-DBUGGY"))
    assert code == 1, err
    assert wrong == []
    assert "Assertion `lines == ++counted' failed" in err
    assert "A replay may differ: it has met what is outside our control" in err


def test_ctrl_c_is_the_programs(folder: Folder, built: Path) -> None:
    program = build(built, "live_server.c")
    with subprocess.Popen(
        folder.command("live", "--", str(program)),
        cwd=folder.path,
        env=folder.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 3, err
    assert "interrupted: no failure up to then" in err


def test_what_can_not_be_run_live_is_said(folder: Folder, built: Path) -> None:
    program = str(build(built, "live.c", "-fsanitize=address"))
    done = folder.bohrbug("live", "--", program, "fine", "1")
    assert done.code == 2
    assert "live rounds need all tasks of a program in one kernel thread" in done.err
    assert "a sanitizer" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pdb",), "--pdb is for Python programs"),
        (("--scope", "a"), "--scope is for Python tests"),
        (("--level", "all"), "--level all is for explorations"),
        (("--fragments", "100"), "fragments must be at most 64"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    folder: Folder, options: tuple[str, ...], message: str
) -> None:
    done = folder.bohrbug("live", *options, "--", "/bin/true")
    assert done.code == 2
    assert message in done.err
    python = folder.bohrbug("live", "--exit-code", "0", "some.py")
    assert "--exit-code is for native programs" in python.err
