"""Client of the data service, with circuit breakers, pace, retries and cursor walk."""
