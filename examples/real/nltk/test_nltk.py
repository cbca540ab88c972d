"""nltk 3.8.1: of the first two threads that use a corpus, one gets AttributeError.

Promised: a corpus is loaded when it is used for the first time.
Race: ``LazyCorpusLoader.__load`` turns itself into the corpus by replacing its ``__dict__``
(corpus/util.py:98). Who is loading it, too, finds its own attributes gone (95).
Reported: issues #947, #1576; not in 3.10.4.
"""

import threading
from pathlib import Path

import nltk
import pytest
from nltk.corpus.reader import WordListCorpusReader
from nltk.corpus.util import LazyCorpusLoader


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "corpora" / "fruit"
    folder.mkdir(parents=True)
    (folder / "all").write_text("apple\nplum\n")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])


def test_two_threads_use_a_corpus(corpora: None) -> None:
    fruit = LazyCorpusLoader("fruit", WordListCorpusReader, "all")
    seen: list[list[str]] = []
    threads = [threading.Thread(target=lambda: seen.append(fruit.words())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [["apple", "plum"]] * 2
