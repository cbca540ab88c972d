"""What blocks for good in C, where nobody can end it but with the process."""

from __future__ import annotations

import re

from .conftest import Folder
from .programs import BLOCKED_IN_C


def test_a_test_that_blocks_in_c_for_good_ends_the_process(folder: Folder) -> None:
    """Whatever is captured, it says where; neither pytest nor a pipeline of CI hangs."""
    folder.write("test_block.py", BLOCKED_IN_C)
    for done in (
        folder.pytest("--bohrbug", "--bohrbug-hang-seconds=0.5"),
        folder.bohrbug("run", "--hang-seconds", "0.5", "test_block.py"),
    ):
        assert done.code == 3
        assert "without reaching a scheduling point; it could not be stopped" in done.err
        assert re.search(r"task 0\.1 \(Thread-\d+ \(block\)\) runs:\n.*test_block.py", done.err)
        assert "ends here" in done.err
