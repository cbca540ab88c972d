"""Django 4.1.13: asking a cache in files for a key raises FileNotFoundError.

Promised: ``has_key`` returns whether the key is in the cache.
Race: ``FileBasedCache.has_key`` looks whether the file is there (filebased.py:93) before it opens
it (94); meanwhile another thread deletes it.
Reported: pull request #16379; 5.1 has it no more.
"""

import tempfile
import threading

from django.conf import settings

if not settings.configured:
    settings.configure()

from django.core.cache.backends.filebased import FileBasedCache


def test_asking_for_a_key_while_it_is_deleted() -> None:
    with tempfile.TemporaryDirectory() as folder:
        cache = FileBasedCache(folder, {})
        cache.set("key", 1)
        errors: list[Exception] = []

        def ask() -> None:
            try:
                cache.has_key("key")
            except OSError as error:
                errors.append(error)

        asking = threading.Thread(target=ask)
        deleting = threading.Thread(target=cache.delete, args=("key",))
        asking.start()
        deleting.start()
        asking.join()
        deleting.join()
    assert not errors
