"""Event loops of asyncio under control: which of the things that are ready comes next is a choice."""
