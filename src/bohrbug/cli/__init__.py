"""The command line."""

from bohrbug.cli.commands import main
from bohrbug.cli.message_logs import messages
from bohrbug.cli.messages import record, replay_messages
from bohrbug.cli.stepping import step

for command in (step, record, replay_messages, messages):
    main.add_command(command)

__all__ = ["main"]
