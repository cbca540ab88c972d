"""langdetect 1.0.9: the first two texts, in two threads, are not recognised.

Race: ``init_factory`` stores the factory before it has loaded its profiles (detector_factory.py).
The test begins without a factory, as a program does.
Reported: issues #30 and #65, pull requests #32 and #33.
"""

import threading

from langdetect import detect, detector_factory


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_both_texts_are_english() -> None:
    detector_factory._factory = None
    seen: list[str] = []
    text = "This is an English sentence, as anybody can see."
    together(*[lambda: seen.append(detect(text))] * 2)
    assert seen == ["en", "en"]
