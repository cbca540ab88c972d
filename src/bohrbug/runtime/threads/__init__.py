"""Python threads under control: tasks are greenlets in one OS thread."""
