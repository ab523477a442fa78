"""What Bolt calls: one thin file for each kind of thing that Slack sends."""
