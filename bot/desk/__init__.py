"""What a channel is told: pure decisions over news, a channel's choices, and what the channel was told before.

No module here reads or writes. `bot.fanout` loads and stores.
"""
