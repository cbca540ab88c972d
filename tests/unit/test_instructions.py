"""What instructions do to memory."""

from __future__ import annotations

import pytest

from bohrbug.runtime.posix.instructions import (
    REGISTERS,
    Instruction,
    Operand,
    instruction,
    is_meant,
)


def named(text: str) -> Instruction:
    found = instruction(text, 0x1000, 0x1006)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("mov    eax,DWORD PTR [rip+0x2edd]        # 401c <balance>", True, False),
        ("mov    DWORD PTR [rip+0x2edd],eax        # 401c <balance>", False, True),
        ("mov    QWORD PTR [rdi],0x0", False, True),
        ("movzx  eax,BYTE PTR [rdi+rsi*1]", True, False),
        ("movups XMMWORD PTR [rax+0x10],xmm0", False, True),
        ("add    DWORD PTR [rip+0x2edd],0x1        # 401c <balance>", True, True),
        ("add    eax,DWORD PTR [rdi]", True, False),
        ("inc    QWORD PTR [rbx]", True, True),
        ("cmp    DWORD PTR [rbp-0x4],0x0", True, False),
        ("test   BYTE PTR [rdx],0x1", True, False),
        ("sete   BYTE PTR [rdx]", False, True),
        ("idiv   DWORD PTR [rdx]", True, False),
        ("lock cmpxchg DWORD PTR [rdx],ecx", True, True),
        ("xchg   DWORD PTR [rdx],ecx", True, True),
        ("cvtsi2sd xmm0,DWORD PTR [rdx]", True, False),
    ],
)
def test_what_is_read_and_written(text: str, reads: bool, writes: bool) -> None:
    assert (named(text).reads, named(text).writes) == (reads, writes)


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("mov eax,DWORD PTR [rip+0x2edd]", ("rip", None, 1, 0x2EDD, 4)),
        ("mov al,BYTE PTR [rdi]", ("rdi", None, 1, 0, 1)),
        ("mov rax,QWORD PTR [r8+r12*8-0x10]", ("r8", "r12", 8, -16, 8)),
        ("mov ax,WORD PTR [rbx+rcx*1]", ("rbx", "rcx", 1, 0, 2)),
        ("mov rax,QWORD PTR [rcx*8+0x404040]", (None, "rcx", 8, 0x404040, 8)),
        ("mov eax,DWORD PTR ds:[0xffffffffffffff00]", None),
        ("mov eax,DWORD PTR ds:0x404040", None),
    ],
)
def test_where_it_goes(text: str, operand: tuple[str | None, str | None, int, int, int]) -> None:
    if operand is None:
        found = instruction(text, 0, 4)
        assert found is None or found.operand.base is None
        return
    base, index, *rest = operand
    number = {None: None} | {name: i for i, name in enumerate(REGISTERS)}
    assert named(text).operand == Operand(number[base], number[index], *rest)


@pytest.mark.parametrize(
    "text",
    [
        "ret",
        "lea    rax,[rip+0x2edd]",
        "nop    DWORD PTR [rax+0x0]",
        "call   QWORD PTR [rax]",
        "push   QWORD PTR [rax]",
        "rep stos QWORD PTR es:[rdi],rax",
        "movs   BYTE PTR es:[rdi],BYTE PTR ds:[rsi]",
        "mov    rax,QWORD PTR fs:0x28",
        "mov    eax,DWORD PTR fs:[rdi]",
        "vgatherdps xmm0,DWORD PTR [rax+xmm1*4],xmm2",
        "fld    QWORD PTR [rax]",
    ],
)
def test_what_is_left_out(text: str) -> None:
    assert instruction(text, 0, 4) is None


LOCKED = "lock sub DWORD PTR [rdi],0x1"
LOAD = "mov eax,DWORD PTR [rdi]"
STORE = "mov DWORD PTR [rdi],eax"
UPDATE = "sub DWORD PTR [rdi],0x1"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (LOCKED, LOCKED, True),
        (LOCKED, LOAD, True),
        (STORE, LOCKED, True),
        ("xchg DWORD PTR [rdi],eax", LOAD, True),
        (LOCKED, UPDATE, False),
        (LOAD, STORE, False),
        (UPDATE, UPDATE, False),
    ],
)
def test_which_pairs_say_that_they_are_atomic(one: str, other: str, expected: bool) -> None:
    assert is_meant(named(one), named(other)) is expected


def test_of_what_is_not_known_nothing_is_said() -> None:
    assert not is_meant(named(LOCKED), None)
    assert not is_meant(None, named(LOCKED))
