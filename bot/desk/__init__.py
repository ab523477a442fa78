"""Pure decisions on the messages of a channel, by the news, the channel's choices and the earlier messages.

No module here reads or writes. `bot.fanout` loads and stores.
"""
