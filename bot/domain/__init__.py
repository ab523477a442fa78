"""Values and rules of racing and of the bot: no I/O, no clock, nothing that can fail for outside reasons."""
