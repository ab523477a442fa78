"""How each kind of condition is said, typed, shown in a form and read from a form.

A kind is a class and a line of `table.py`. May import: messages.kit, racedata.
"""
