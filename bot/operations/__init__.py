"""Operations: what keeps the bot running and tells its operator.

Offers scheduled jobs, repair, the watchdog, drills, health, metrics, the heartbeat and the warnings of the quota. May
import: fanout and everything below.
"""
