"""Event loops of asyncio under control: what comes next is a choice, where nothing is promised."""
