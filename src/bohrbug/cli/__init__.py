"""The command line."""

from bohrbug.cli.commands import main
from bohrbug.cli.message_logs import messages
from bohrbug.cli.messages import record, replay_messages

for command in (record, replay_messages, messages):
    main.add_command(command)

__all__ = ["main"]
