"""Client of the data service, with circuit breakers, throttle, retries and cursor walk."""
