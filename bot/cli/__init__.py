"""The command line: `main.py` names the commands, other modules carry them out.

May import everything except the sandbox; `demo` loads the sandbox lazily.
"""
