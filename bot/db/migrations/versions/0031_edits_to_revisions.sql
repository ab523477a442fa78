-- A waiting correction, or a race's abandonment, whose message was given up, becomes a message.
-- Of several edits that tell the event the newest becomes the message.
UPDATE message SET kind = 'event', state = 'queued', edits_id = NULL
WHERE kind = 'edit' AND state IN ('queued', 'sending')
AND EXISTS (
    SELECT 1 FROM message AS given_up
    JOIN event AS own ON own.id = given_up.event_id
    JOIN event AS told ON told.id = message.event_id
    WHERE given_up.id = message.edits_id AND given_up.state = 'dead_letter' AND own.id <> told.id
    AND (told.event_key = own.event_key OR told.kind = 'race.abandoned')
)
AND NOT EXISTS (
    SELECT 1 FROM message AS other
    JOIN event AS said ON said.id = other.event_id
    JOIN event AS told ON told.id = message.event_id
    WHERE other.kind = 'event' AND other.state NOT IN ('dead_letter', 'muted')
    AND other.id <> message.edits_id AND other.channel_id = message.channel_id
    AND said.event_key = told.event_key AND said.version >= told.version
)
AND NOT EXISTS (
    SELECT 1 FROM message AS other
    JOIN event AS said ON said.id = other.event_id
    JOIN event AS told ON told.id = message.event_id
    WHERE other.kind = 'edit' AND other.state IN ('queued', 'sending') AND other.edits_id = message.edits_id
    AND said.event_key = told.event_key
    AND (said.version > told.version OR (said.version = told.version AND other.id > message.id))
);

-- What was said. `rev` 1 waits. An edit has no moment if it needed no call, or if another message says the same.
INSERT INTO said (message_id, event_id, rev, said_at)
SELECT
    edit.edits_id,
    edit.event_id,
    CASE WHEN max(CASE WHEN edit.state = 'sent' THEN 1 ELSE 0 END) = 0
        THEN max(CASE WHEN edit.state IN ('queued', 'sending') THEN 1 ELSE 0 END) ELSE 0 END,
    max(CASE WHEN edit.state = 'sent' THEN edit.sent_at END)
FROM message AS edit
JOIN message AS edited ON edited.id = edit.edits_id
WHERE edit.kind = 'edit' AND edit.state <> 'dead_letter' AND edit.event_id <> edited.event_id
GROUP BY edit.edits_id, edit.event_id;

-- What waits is wanted.
UPDATE message SET
    wanted_rev = 1,
    wanted_at = (
        SELECT min(edit.received_at) FROM message AS edit
        WHERE edit.edits_id = message.id AND edit.state IN ('queued', 'sending')
    ),
    passes_pause = EXISTS (
        SELECT edit.id FROM message AS edit
        WHERE edit.edits_id = message.id AND edit.state IN ('queued', 'sending')
        AND edit.kind = 'edit' AND edit.idempotency_key LIKE '%!taken%'
    )
WHERE id IN (SELECT edits_id FROM message WHERE edits_id IS NOT NULL AND state IN ('queued', 'sending'));

-- A refused edit says that the message is gone.
UPDATE message SET gone_since = (
    SELECT min(COALESCE(edit.sending_at, edit.received_at)) FROM message AS edit
    WHERE edit.edits_id = message.id AND edit.kind <> 'edit' AND edit.state = 'folded'
)
WHERE kind IN ('live', 'escalation') AND EXISTS (
    SELECT 1 FROM message AS edit
    WHERE edit.edits_id = message.id AND edit.kind <> 'edit' AND edit.state = 'folded'
);
