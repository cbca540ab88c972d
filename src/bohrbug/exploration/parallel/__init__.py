"""One exploration by several processes: pieces go to workers, findings come back."""
