"""Readers of a stranger's JSON: races, runners, times and single values in any plausible shape (Spec gap G2)."""
