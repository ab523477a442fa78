"""Imported by the process that all lives are forked from, and by nothing else: what every life would do anew.

It makes a start a fifth of a second, where it would be half of one, on each of some hundred lives.
"""

import gc
import inspect

import httpcore

from tests.soak import life

LOADED = (httpcore, life)

# Bolt asks for the stack when it is built, and the first time that costs a look at every module.
inspect.stack()
# The service collects garbage once it has started; what is frozen it need not look at.
gc.collect()
gc.freeze()
