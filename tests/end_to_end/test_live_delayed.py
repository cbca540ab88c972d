"""``bohrbug live --native-threads`` with native programs."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Ended, Folder
from tests.end_to_end.live_programs import interrupted, left
from tests.native.building import build, need_native

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="native programs need Linux")

TSAN = "-fsanitize=thread"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_native()
    return tmp_path_factory.mktemp("delayed")


def run(folder: Folder, *arguments: str) -> Ended:
    return folder.bohrbug("live", "--native-threads", *arguments)


def plain(built: Path) -> str:
    return str(build(built, "delayed.c"))


def hooked(built: Path) -> str:
    return str(build(built, "delayed.c", TSAN))


# -- failures --------------------------------------------------------------------------------------


def test_a_check_that_is_overtaken_is_found_in_the_run_itself(folder: Folder, built: Path) -> None:
    # Real threads promise nothing: on a busy machine a run may find nothing.
    for seed in range(3):
        done = run(folder, "--seed", str(seed), "--", plain(built), "pool", "10000")
        if done.code:
            break
    assert done.code == 1, done.err
    assert 'Assertion `!used[which] && "handed out twice"\' failed.' in done.err
    assert re.search(
        r"FAILED: a failed assertion in thread \d \(use_pool\): !used\[which\]", done.err
    )
    assert re.search(r"\n  at \S*delayed\.c:\d+ in (take|use_pool)\n", done.err)
    assert re.search(
        r"Delays in force just before, the latest last:\n(    thread \d \(use_pool\) .*\n)+",
        done.err,
    )
    assert f"Seed {seed}. There is no file to replay" in done.err
    assert "free-threaded" not in done.err
    assert re.search(r"bohrbug: 1 failure in \d+ windows?", done.err)
    assert left(folder) == []


def test_a_crash_is_a_failure_that_is_told_with_the_delays(folder: Folder, built: Path) -> None:
    done = run(folder, "--", plain(built), "crash", "300")
    assert done.code == 1
    assert "FAILED: the program crashed: Segmentation fault (SIGSEGV)" in done.err
    assert re.search(r"about to call pthread_mutex_\w+, at |gave way by priority, at ", done.err)


def test_another_exit_code_is_a_failure_where_one_is_asked_for(folder: Folder, built: Path) -> None:
    done = run(folder, "--exit-code", "0", "--", plain(built), "atomic", "100")
    assert done.code == 1
    assert "FAILED: exit code 7 instead of 0" in done.err
    done = run(folder, "--exit-code", "7", "--", plain(built), "atomic", "100")
    assert done.code == 7, done.err


# -- deadlocks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["deadlock", "deadlock beside another"])
def test_a_deadlock_ends_the_run_and_its_circle_is_named(
    folder: Folder, built: Path, what: str
) -> None:
    done = run(folder, "--hang-seconds", "1", "--", plain(built), what)
    assert done.code == 1
    assert "FAILED: deadlock: 2 threads wait for each other, and nothing moved for 1 s" in done.err
    waits = re.findall(
        r"thread (\d) \(lock_both\) waits for a mutex \((\w+)\) that thread (\d) \(lock_both\) "
        r"has, at \S*delayed\.c:\d+ in lock_both",
        done.err,
    )
    (one, first, other), (two, second, another) = waits
    assert (one, other) == (another, two)
    assert {first, second} == {"lock", "other"}
    assert left(folder) == []


def test_a_deadlock_of_a_mutex_and_a_reader_writer_lock(folder: Folder, built: Path) -> None:
    done = run(folder, "--hang-seconds", "1", "--", plain(built), "deadlock of locks")
    assert done.code == 1
    assert "(lock_table) waits for a mutex (lock) that thread 2 (lock_then_table) has" in done.err
    assert (
        "waits for a reader-writer lock, to read, (table) that thread 1 (lock_table) has"
        in done.err
    )


def test_a_thread_that_waits_for_itself(folder: Folder, built: Path) -> None:
    done = run(folder, "--hang-seconds", "1", "--", plain(built), "itself")
    assert done.code == 1
    assert "the main thread waits for a mutex (lock) that it has itself, at " in done.err


def test_threads_that_all_wait_for_nobody(folder: Folder, built: Path) -> None:
    done = run(folder, "--hang-seconds", "1", "--", plain(built), "lost signal")
    assert done.code == 1
    assert "deadlock: all 3 threads wait, nobody is left to wake one" in done.err
    assert done.err.count("waits for a condition variable (changed)") == 2
    assert "the main thread waits for the end of thread 1 (wait_for_signal)" in done.err


@pytest.mark.parametrize(
    ("what", "code"),
    [
        # The handler could do something about it: what ends the program is its alarm.
        (["lost signal with a handler", "1"], 128 + signal.SIGALRM),
        (["late signal"], 0),
    ],
)
def test_what_may_be_woken_is_no_deadlock(
    folder: Folder, built: Path, what: list[str], code: int
) -> None:
    done = run(folder, "--hang-seconds", "0.5", "--", plain(built), *what)
    assert done.code == code, done.err
    assert "FAILED" not in done.err


def test_without_hang_seconds_nobody_looks_for_deadlocks(folder: Folder, built: Path) -> None:
    command = ["--hang-seconds", "0", "--", plain(built), "lost signal", "1"]
    assert run(folder, *command).code == 128 + signal.SIGALRM


# -- races -----------------------------------------------------------------------------------------


def test_races_are_caught_in_traps(folder: Folder, built: Path) -> None:
    done = run(folder, "--", hooked(built), "counter", "3000")
    assert done.code == 0, done.err
    assert re.search(r"race: on counter, caught \d+ times?", done.err), done.err
    lines = r"(read|write|update) it at \S*delayed\.c:\d+ in count\n"
    assert re.search(rf"thread \d \(count\) was about to {lines}", done.err)
    assert re.search(rf"thread \d \(count\) came meanwhile to {lines}", done.err)
    assert re.search(r"value before: \d+; after the other's access: \d+; after both: \d+", done.err)
    assert "0 benign" in done.err
    # Two that read are no race.
    assert not re.search(r"was about to read .*\n.*came meanwhile to read ", done.err)


def test_a_race_that_changes_nothing_is_benign(folder: Folder, built: Path) -> None:
    done = run(folder, "--", hooked(built), "flag", "3000")
    assert done.code == 0, done.err
    assert "race, benign (the same value was written): on is_ready, caught" in done.err
    assert "value before: 1; after the other's access: 1; after both: 1" in done.err


def test_atomics_and_what_locks_protect_do_not_race(folder: Folder, built: Path) -> None:
    done = run(folder, "--budget", "60", "--", hooked(built), "atomic", "2000")
    assert (done.code, done.out) == (7, "1\n"), done.err
    assert re.search(r"[1-9]\d* traps?, which caught 0 races", done.err), done.err
    assert "race" not in done.err.replace("0 races", "")


def test_atomics_of_all_sizes_do_what_they_are_for(folder: Folder, built: Path) -> None:
    done = run(folder, "--budget", "60", "--", hooked(built), "exchange")
    assert (done.code, done.out) == (0, "2000 1\n"), done.err
    assert "race: " not in done.err


# -- what stays as it is ---------------------------------------------------------------------------


def test_with_nothing_to_find_all_is_as_always(folder: Folder, built: Path) -> None:
    command = [plain(built), "atomic", "300"]
    native = folder.run(command)
    delayed = run(folder, "--", *command)
    assert (delayed.code, delayed.out) == (native.code, native.out) == (7, "1\n")
    assert delayed.err.startswith("last\nbohrbug: no failure in ")
    assert "holds" not in delayed.err
    assert not (folder.path / ".bohrbug").exists()
    quiet = run(folder, "-q", "--", *command)
    assert (quiet.code, quiet.out, quiet.err) == (native.code, native.out, native.err)


@pytest.mark.parametrize("flags", [(), (TSAN,)], ids=["plain", "hooked"])
def test_all_that_threads_synchronise_by_does_what_it_is_for(
    folder: Folder, built: Path, flags: tuple[str, ...]
) -> None:
    # It exits with the line at which something is not as POSIX says.
    done = run(folder, "--budget", "60", "--", str(build(built, "pthreads.c", *flags)))
    assert done.code == 0, done.err


def test_its_own_input(folder: Folder) -> None:
    need_native()
    done = folder.bohrbug("live", "--native-threads", "--", "cat", stdin="a line\n")
    assert (done.code, done.out) == (0, "a line\n"), done.err


@pytest.mark.parametrize("which", [plain, hooked], ids=["plain", "hooked"])
def test_children_are_left_alone(folder: Folder, built: Path, which: object) -> None:
    program = which(built)  # type: ignore[operator]
    done = run(folder, "--budget", "80", "--", program, "children", "500")
    assert (done.code, done.out) == (0, "over\n"), done.err
    assert left(folder) == []


def test_a_program_that_becomes_another_one_takes_part_as_that(folder: Folder, built: Path) -> None:
    program = hooked(built)
    done = run(folder, "--", "sh", "-c", f"exec {program} counter 3000")
    assert done.code == 0, done.err
    assert re.search(r"race: on counter, caught \d+ times?", done.err), done.err
    assert re.search(r"at \S*delayed\.c:\d+ in count\n", done.err)


# -- its end ---------------------------------------------------------------------------------------


def test_ctrl_c_ends_it(folder: Folder, built: Path) -> None:
    code, _, errors = interrupted(folder, "--native-threads", "--", plain(built), "wait")
    assert code == 3, errors
    assert "bohrbug: interrupted: no failure up to then in " in errors
    assert left(folder) == []


def test_a_program_may_end_itself_at_ctrl_c(folder: Folder, built: Path) -> None:
    code, output, errors = interrupted(folder, "--native-threads", "--", plain(built), "stop")
    assert (code, output) == (5, f"stopped by {signal.SIGINT:d}\n"), errors
    assert "bohrbug: interrupted" in errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--interpreter", "gil"], "--interpreter is for Python tests, and this is a native"),
        (["--scope", "+json"], "--scope is for Python tests, and this is a native"),
        (["--window", "50"], "--window is for rounds"),
        (["--level", "sync"], "--level is for programs under control"),
        (["--allow-misuse", "relock"], "--allow-misuse is for programs under control"),
        (["--budget", "0"], "budget must be from 1 to 99"),
    ],
)
def test_options_that_mean_nothing_here(folder: Folder, options: list[str], message: str) -> None:
    done = run(folder, *options, "--", "true")
    assert done.code == 2
    assert message in done.err


def test_what_can_t_be_run(folder: Folder) -> None:
    need_native()
    missing = run(folder, "--", "./nowhere")
    assert (missing.code, "there is no program ./nowhere" in missing.err) == (2, True)
