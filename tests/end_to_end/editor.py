"""An editor, as a debugger sees it: a client of the Debug Adapter Protocol."""

from __future__ import annotations

import json
import socket
from typing import Any


class Editor:
    """Speaks with a debug adapter.

    Parameters:
        port: where it listens.
    """

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._file = self._socket.makefile("rwb")
        self._number = 0
        self._events: list[dict[str, Any]] = []

    def close(self) -> None:
        """Leave; the debugger notices."""
        self._file.close()
        self._socket.close()

    def attach(self, breakpoints: dict[str, list[int]], **arguments: Any) -> None:
        """Attach, and set breakpoints: lines by file."""
        self.ask("initialize", adapterID="test", linesStartAt1=True, pathFormat="path")
        # Without any argument a debug adapter takes it for something else.
        attached = self._send("attach", {"justMyCode": True} | arguments)
        self.event("initialized")
        for path, lines in breakpoints.items():
            self.ask(
                "setBreakpoints", source={"path": path}, breakpoints=[{"line": n} for n in lines]
            )
        self.ask("configurationDone")
        self._answer(attached)

    def ask(self, command: str, **arguments: Any) -> Any:
        """A request; the body of its answer."""
        return self._answer(self._send(command, arguments))

    def event(self, *names: str) -> dict[str, Any]:
        """The next event of one of these names."""
        while True:
            for event in self._events:
                if event["event"] in names:
                    self._events.remove(event)
                    return event
            message = self._read()
            assert message["type"] == "event", json.dumps(message)
            self._events.append(message)

    def stop(self) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, str]] | None:
        """The next stop: what is said of it, its frames, and the variables of the innermost one.

        ``None``: it is over.
        """
        event = self.event("stopped", "terminated")
        if event["event"] == "terminated":
            return None
        frames = self.ask("stackTrace", threadId=event["body"]["threadId"])["stackFrames"]
        scopes = self.ask("scopes", frameId=frames[0]["id"])["scopes"]
        reference = scopes[0]["variablesReference"]
        variables = self.ask("variables", variablesReference=reference)["variables"]
        return event["body"], frames, {each["name"]: each["value"] for each in variables}

    def console(self) -> str:
        """What the debugger has said of itself so far."""
        output = [each["body"] for each in self._events if each["event"] == "output"]
        return "".join(each["output"] for each in output if each.get("category") == "console")

    def _send(self, command: str, arguments: dict[str, Any]) -> int:
        self._number += 1
        request = {"seq": self._number, "type": "request", "command": command}
        body = json.dumps(request | {"arguments": arguments}).encode()
        self._file.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._file.flush()
        return self._number

    def _answer(self, number: int) -> Any:
        while True:
            message = self._read()
            if message["type"] == "event":
                self._events.append(message)
            elif message["type"] == "response" and message["request_seq"] == number:
                assert message["success"], message
                return message.get("body")

    def _read(self) -> dict[str, Any]:
        length = 0
        while line := self._file.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the adapter has ended"
        message: dict[str, Any] = json.loads(self._file.read(length))
        return message
