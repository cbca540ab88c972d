"""The loop around strategy and runtime: budgets, confirmation, minimisation, verdicts."""
