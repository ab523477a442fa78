"""racing-bot: race events of a data service, as messages in the Slack channels that asked for them."""
