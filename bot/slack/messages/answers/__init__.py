"""Answers to commands, for people."""
