"""Client of the data service: one method an endpoint, retry, throttle, cursor walk."""
