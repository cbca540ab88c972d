"""Strategies: from traces to the next plan."""
