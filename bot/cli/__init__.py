"""The command line: `main.py` names every command, the other modules carry the commands out.

Offers `racing-bot` and its commands. May import everything but the sandbox, which `demo` loads when asked.
"""
