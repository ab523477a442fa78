"""What the bot keeps of the data service's data: reference values, the race book, quota readings."""
