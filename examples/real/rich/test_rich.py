"""rich 13.9.4: two threads that add rows to a table mix them up.

Expected: what is added as a row is shown as a row.
Race: ``Table.add_row`` adds its cells to one column after the other (table.py:442).
Found by reading the source; rich's documentation does not say that tables can be shared by threads.
"""

import threading

from rich.console import Console
from rich.table import Table


def test_rows_stay_together() -> None:
    table = Table("name", "number")
    rows = [("one", "1"), ("two", "2")]
    threads = [threading.Thread(target=table.add_row, args=row) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    console = Console(width=40)
    with console.capture() as capture:
        console.print(table)
    lines = capture.get().splitlines()
    for name, number in rows:
        assert any(name in line and number in line for line in lines)
