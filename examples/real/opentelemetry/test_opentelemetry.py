"""opentelemetry-sdk 1.20.0: writing a span down raises RuntimeError while it gets an attribute.

Promised: spans can be used by several threads; ``BoundedAttributes`` has a lock.
Race: ``BoundedAttributes.__iter__`` of opentelemetry-api returns an iterator over its dict, and
leaves the lock (attributes/__init__.py:192); meanwhile another thread sets an attribute (183).
Found by reading the source; 1.30.0 has it no more.
"""

import threading

from opentelemetry.sdk.trace import TracerProvider


def test_a_span_is_written_down_while_it_is_changed() -> None:
    span = TracerProvider().get_tracer("tracer").start_span("work")
    span.set_attribute("first", 1)
    written: list[str] = []

    def write() -> None:
        written.append(span.to_json())

    changing = threading.Thread(target=span.set_attribute, args=("second", 2))
    writing = threading.Thread(target=write)
    changing.start()
    writing.start()
    changing.join()
    writing.join()
    assert len(written) == 1
