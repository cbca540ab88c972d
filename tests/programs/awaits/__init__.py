"""Programs of event loops with, and without, races over an await."""
