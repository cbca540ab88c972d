"""What the source calls containers that are accessed, and things that are made."""

from __future__ import annotations

import dis
from pathlib import Path
from types import CodeType

import pytest

from bohrbug.model.operation import Site
from bohrbug.report.assigned import assigned_name, used_name
from bohrbug.runtime.threads.data.expressions import accessed_name, holder_name

ACCESSING = {"CALL", "BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR", "CONTAINS_OP", "GET_ITER"}


def names_in(folder: Path, statement: str) -> list[str]:
    """The names at each accessing instruction of a statement in a method of ``Bank``."""
    code = method_of_bank(folder, statement)
    return [
        accessed_name((code, instruction.offset))
        for instruction in dis.get_instructions(code)
        if instruction.opname in ACCESSING
        or "_IF_" in instruction.opname
        # From Python 3.14 on a subscript is read by a binary operation.
        or instruction.argrepr == "[]"
    ]


def method_of_bank(folder: Path, statement: str) -> CodeType:
    """The code of a method of ``Bank`` that has only this statement."""
    path = folder / "bank.py"
    path.write_text(f"class Bank:\n    def work(self):\n        {statement}\n", encoding="utf-8")
    module = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    code = module
    for name in ("Bank", "work"):
        code = next(
            constant
            for constant in code.co_consts
            if isinstance(constant, CodeType) and constant.co_name == name
        )
    return code


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("results.append(1)", ["results"]),
        ("self.accounts['a'] = 1", ["Bank.accounts"]),
        ("return 'a' in self.accounts", ["Bank.accounts"]),
        ("del pool.idle[0]", ["pool.idle"]),
        ("return rows['x'][0]", ["rows", "rows['x']"]),
        ("return len(rows)", ["rows"]),
        ("heapq.heappush(self.heap, 1)", ["Bank.heap"]),
        ("for row in self.rows: print(row, row)", ["Bank.rows"]),
        ("rows.get('ü', 'ß')", ["rows"]),
        ("rows.append(\n    1,\n)", ["rows"]),
        ("assert rows", ["rows"]),
        ("if not self.rows: print(1)", ["Bank.rows"]),
        ("for row in self.rows.values(): print(row, row)", ["Bank.rows"]),
        ("return [row for row in rows.items()]", ["rows"]),
        ("return list(self.rows.keys())", ["Bank.rows"]),
        ("while rows: print(1)", ["rows"]),
        ("print(1 if rows else 2)", ["rows"]),
    ],
)
def test_a_container_is_named_by_the_expression(
    tmp_path: Path, statement: str, names: list[str]
) -> None:
    assert set(names) <= set(names_in(tmp_path, statement))


@pytest.mark.parametrize(
    "statement",
    [
        "rows.extend(more)",
        "zip(rows, more)",
        "make()[0]",
        "rows[key][0]",
        "make().append(1)",
        "list(rows.copy())",
    ],
)
def test_what_may_be_another_has_no_name(tmp_path: Path, statement: str) -> None:
    assert names_in(tmp_path, statement)[-1] == ""


def test_without_source_there_is_no_name() -> None:
    code = compile("rows[0]", "<nowhere>", "exec")
    assert {accessed_name((code, i.offset)) for i in dis.get_instructions(code)} == {""}


@pytest.mark.parametrize(
    ("line", "made", "name"),
    [
        ("self.lock = Lock()", "Lock()", "Bank.lock"),
        ("a = Lock(); b = Lock()", "Lock()", "a"),
        ("a = None; b = Lock()", "Lock()", "b"),
        ("self.a, b = None, Lock()", "Lock()", "b"),
        ("lock: Any = Lock()", "Lock()", "lock"),
        ("locks = [Lock() for _ in range(2)]", "Lock()", "locks"),
        ("pools[key] = Pool(", "Pool(", "pools[key]"),
        ("with connect() as client:", "connect()", "client"),
        ("with lock, connect(there) as client:", "connect(there)", "client"),
        ("async with connect() as client:", "connect()", "client"),
        ("with connect():", "connect()", ""),
        ("run(Lock())", "Lock()", ""),
        ("if lock == Lock():", "Lock()", ""),
        ("pthread_mutex_t *m = make();", "make", ""),
    ],
)
def test_a_thing_is_named_by_what_it_is_assigned_to(
    tmp_path: Path, line: str, made: str, name: str
) -> None:
    path = tmp_path / "bank.py"
    path.write_text(f"    {line}\n", encoding="utf-8")
    site = Site(str(path), 1, "Bank.__init__", 5 + line.index(made))
    assert assigned_name(site) == name


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("with lock:", "lock"),
        ("with self.lock:", "Bank.lock"),
        ("while not done.wait(1): pass", "done"),
        ("shop.orders.put(order)", "shop.orders"),
        ("left.acquire(); right.acquire()", ""),
        ("with left, right:", ""),
        ("with Lock():", ""),
        ("take(lock)", ""),
    ],
)
def test_a_thing_that_was_made_before_is_named_by_where_it_is_used(
    tmp_path: Path, line: str, name: str
) -> None:
    path = tmp_path / "bank.py"
    path.write_text(f"    {line}\n", encoding="utf-8")
    assert used_name(Site(str(path), 1, "Bank.pay", 5)) == name


@pytest.mark.parametrize(
    ("statement", "holders"),
    [
        ("self.total = 1", ["Bank"]),
        ("return self.vault.total", ["Bank", "Bank.vault"]),
        ("del pool.idle", ["pool"]),
        ("return rows['x']", []),
        ("make().total = 1", [""]),
    ],
)
def test_an_object_is_named_by_the_access_to_its_attribute(
    tmp_path: Path, statement: str, holders: list[str]
) -> None:
    code = method_of_bank(tmp_path, statement)
    found = [
        holder_name((code, instruction.offset))
        for instruction in dis.get_instructions(code)
        if instruction.opname.endswith("_ATTR")
    ]
    assert found == holders


def test_only_instructions_that_access_attributes_have_holders(tmp_path: Path) -> None:
    code = method_of_bank(tmp_path, "return self.accounts['a']")
    named = {
        instruction.opname
        for instruction in dis.get_instructions(code)
        if holder_name((code, instruction.offset))
    }
    assert named == {"LOAD_ATTR"}
