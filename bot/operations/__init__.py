"""Operations: scheduled jobs, repair, watchdog, drills, health, metrics, heartbeat, quota warnings.

May import: fanout and everything below.
"""
