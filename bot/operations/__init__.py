"""What keeps the bot in operation: scheduled jobs, health and metrics."""
