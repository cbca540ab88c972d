"""Chameleon 4.6.0: a template whose file has changed is shown as it was.

Race: ``cook_check`` notes that it has read the new file before it has done so (template.py), so
that another thread takes the old template for the new one.
Reported: found by reading the source.
"""

import os
import threading
from pathlib import Path

from chameleon import PageTemplateFile


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_both_threads_show_the_new_page(tmp_path: Path) -> None:
    file = tmp_path / "page.pt"
    file.write_text("<p>old</p>")
    template = PageTemplateFile(str(file), auto_reload=True)
    template()
    file.write_text("<p>new</p>")
    os.utime(file, (1, 1))
    seen: list[str] = []
    together(*[lambda: seen.append(template())] * 2)
    assert seen == ["<p>new</p>"] * 2
