CREATE TABLE inbox (
	id INTEGER NOT NULL,
	event_key TEXT NOT NULL,
	body_sha256 VARCHAR(64) NOT NULL,
	event_name TEXT,
	body BLOB,
	received_at DATETIME NOT NULL,
	state VARCHAR NOT NULL,
	attempts INTEGER NOT NULL,
	not_before DATETIME,
	error TEXT,
	done_at DATETIME,
	PRIMARY KEY (id),
	CONSTRAINT uq_inbox_event_key_body_sha256 UNIQUE (event_key, body_sha256)
);
CREATE INDEX ix_inbox_urgent ON inbox (received_at, id) WHERE state = 'new' AND event_name IN ('race.abandoned', 'meeting.abandoned');
CREATE INDEX ix_inbox_received_at ON inbox (received_at, event_name);
CREATE INDEX ix_inbox_new ON inbox (received_at, id) WHERE state = 'new';
CREATE TABLE named_race (
	race_id TEXT NOT NULL,
	event_key TEXT NOT NULL,
	PRIMARY KEY (race_id, event_key)
);
CREATE TABLE channel_subscription (
	id INTEGER NOT NULL,
	channel_id VARCHAR NOT NULL,
	region VARCHAR NOT NULL,
	filter TEXT NOT NULL,
	state VARCHAR NOT NULL,
	state_reason VARCHAR,
	paused_until DATETIME,
	created_by VARCHAR NOT NULL,
	created_at DATETIME NOT NULL,
	updated_at DATETIME NOT NULL,
	PRIMARY KEY (id),
	CONSTRAINT uq_channel_subscription_channel_id_region UNIQUE (channel_id, region)
);
CREATE TABLE muted_meeting (
	id INTEGER NOT NULL,
	channel_id VARCHAR NOT NULL,
	meeting TEXT NOT NULL,
	muted_by VARCHAR NOT NULL,
	muted_at DATETIME NOT NULL,
	ended_at DATETIME,
	PRIMARY KEY (id)
);
CREATE INDEX ix_muted_meeting_muted_at ON muted_meeting (muted_at);
CREATE TABLE watch (
	id INTEGER NOT NULL,
	channel_id VARCHAR NOT NULL,
	person_id VARCHAR,
	kind VARCHAR NOT NULL,
	name TEXT NOT NULL,
	name_key TEXT NOT NULL,
	created_by VARCHAR NOT NULL,
	created_at DATETIME NOT NULL,
	paused_until DATETIME,
	PRIMARY KEY (id),
	CONSTRAINT uq_watch_channel_id_kind_name_key UNIQUE (channel_id, kind, name_key),
	CONSTRAINT ck_watch_kind CHECK (kind IN ('horse', 'trainer', 'jockey'))
);
CREATE TABLE audit (
	id INTEGER NOT NULL,
	at DATETIME NOT NULL,
	user_id VARCHAR NOT NULL,
	channel_id VARCHAR NOT NULL,
	action VARCHAR NOT NULL,
	"before" TEXT,
	"after" TEXT,
	reference VARCHAR NOT NULL,
	PRIMARY KEY (id)
);
CREATE INDEX ix_audit_channel_id ON audit (channel_id, id);
CREATE INDEX ix_audit_user_id ON audit (user_id, id);
CREATE TABLE channel_queue (
	channel_id VARCHAR NOT NULL,
	state VARCHAR NOT NULL,
	state_reason VARCHAR,
	state_since DATETIME,
	lease_token VARCHAR,
	leased_until DATETIME,
	next_free_at DATETIME NOT NULL,
	PRIMARY KEY (channel_id),
	CONSTRAINT ck_channel_queue_state CHECK (state IN ('open', 'paused', 'closed', 'on_trial')),
	CONSTRAINT ck_channel_queue_since CHECK ((state = 'open') = (state_since IS NULL)),
	CONSTRAINT ck_channel_queue_reason CHECK ((state IN ('closed', 'on_trial')) = (state_reason IS NOT NULL)),
	CONSTRAINT ck_channel_queue_lease CHECK ((lease_token IS NULL) = (leased_until IS NULL))
);
CREATE TABLE acknowledgement (
	message_id INTEGER NOT NULL,
	asked TEXT NOT NULL,
	state VARCHAR NOT NULL,
	stepped_at DATETIME,
	taken_by VARCHAR,
	taken_at DATETIME,
	PRIMARY KEY (message_id),
	CONSTRAINT ck_acknowledgement_state CHECK (state IN ('asked', 'reminded', 'unanswered', 'taken', 'replaced')),
	CONSTRAINT ck_acknowledgement_taken_by CHECK ((state = 'taken') = (taken_by IS NOT NULL)),
	CONSTRAINT ck_acknowledgement_taken_at CHECK ((state = 'taken') = (taken_at IS NOT NULL)),
	CONSTRAINT ck_acknowledgement_stepped_at CHECK (state <> 'asked' OR stepped_at IS NULL)
);
CREATE INDEX ix_acknowledgement_open ON acknowledgement (message_id) WHERE state IN ('asked', 'reminded');
CREATE TABLE live_meeting (
	message_id INTEGER NOT NULL,
	race_date VARCHAR NOT NULL,
	region VARCHAR,
	course_id VARCHAR,
	course_name VARCHAR,
	folded_name VARCHAR,
	changes_at DATETIME,
	PRIMARY KEY (message_id)
);
CREATE INDEX ix_live_meeting_race_date ON live_meeting (race_date);
CREATE INDEX ix_live_meeting_changes_at ON live_meeting (changes_at) WHERE changes_at IS NOT NULL;
CREATE TABLE generation (
	id INTEGER NOT NULL,
	mark VARCHAR NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE method_hold (
	method VARCHAR NOT NULL,
	until DATETIME NOT NULL,
	reason VARCHAR NOT NULL,
	PRIMARY KEY (method)
);
CREATE TABLE method_pace (
	method VARCHAR NOT NULL,
	calls FLOAT NOT NULL,
	counted_at DATETIME NOT NULL,
	PRIMARY KEY (method)
);
CREATE TABLE notice (
	"key" TEXT NOT NULL,
	created_at DATETIME NOT NULL,
	PRIMARY KEY ("key")
);
CREATE TABLE stored_state (
	name VARCHAR NOT NULL,
	value TEXT NOT NULL,
	updated_at DATETIME NOT NULL,
	PRIMARY KEY (name)
);
CREATE TABLE webhook_subscription (
	id INTEGER NOT NULL,
	url TEXT NOT NULL,
	events VARCHAR NOT NULL,
	region VARCHAR,
	secret BLOB,
	answer BLOB,
	created_at DATETIME NOT NULL,
	retired_at DATETIME,
	PRIMARY KEY (id)
);
CREATE TABLE quota_sample (
	id INTEGER NOT NULL,
	taken_at DATETIME NOT NULL,
	month VARCHAR NOT NULL,
	used INTEGER NOT NULL,
	certain BOOLEAN NOT NULL,
	source VARCHAR,
	errors INTEGER,
	refusals INTEGER,
	PRIMARY KEY (id)
);
CREATE INDEX ix_quota_sample_taken_at ON quota_sample (taken_at);
CREATE TABLE book_race (
	race_id VARCHAR NOT NULL,
	region VARCHAR NOT NULL,
	race_date VARCHAR NOT NULL,
	meeting_id TEXT,
	data TEXT NOT NULL,
	updated_at DATETIME NOT NULL,
	PRIMARY KEY (race_id)
);
CREATE INDEX ix_book_race_meeting_id ON book_race (meeting_id) WHERE meeting_id IS NOT NULL;
CREATE INDEX ix_book_race_day ON book_race (race_date, region);
CREATE TABLE learnt_race (
	race_id TEXT NOT NULL,
	PRIMARY KEY (race_id)
);
CREATE TABLE job_run (
	job VARCHAR NOT NULL,
	slot VARCHAR NOT NULL,
	claimed_by VARCHAR NOT NULL,
	leased_until DATETIME NOT NULL,
	done_at DATETIME,
	PRIMARY KEY (job, slot)
);
CREATE TABLE missing (
	"key" TEXT NOT NULL,
	kind VARCHAR NOT NULL,
	name TEXT NOT NULL,
	race_id TEXT,
	region VARCHAR,
	race_date VARCHAR NOT NULL,
	found_at DATETIME NOT NULL,
	told_at DATETIME,
	came_at DATETIME,
	PRIMARY KEY ("key"),
	CONSTRAINT ck_missing_kind CHECK (kind IN ('race', 'delivery', 'day', 'subscription'))
);
CREATE INDEX ix_missing_open ON missing ("key") WHERE came_at IS NULL;
CREATE TABLE event (
	id INTEGER NOT NULL,
	event_key TEXT NOT NULL,
	version INTEGER NOT NULL,
	kind VARCHAR,
	region VARCHAR,
	race_id VARCHAR,
	meeting_id VARCHAR,
	race_date VARCHAR,
	data TEXT NOT NULL,
	remarks TEXT,
	inbox_id INTEGER NOT NULL,
	received_at DATETIME NOT NULL,
	posts INTEGER NOT NULL,
	PRIMARY KEY (id),
	CONSTRAINT uq_event_event_key_version UNIQUE (event_key, version),
	FOREIGN KEY(inbox_id) REFERENCES inbox (id)
);
CREATE INDEX ix_event_race_id ON event (race_id);
CREATE INDEX ix_event_without_race_id ON event (race_date, received_at) WHERE race_id IS NULL;
CREATE INDEX ix_event_meeting_id ON event (meeting_id);
CREATE INDEX ix_event_race_date ON event (race_date, kind, received_at);
CREATE TABLE message (
	id INTEGER NOT NULL,
	channel_id VARCHAR NOT NULL,
	idempotency_key TEXT NOT NULL,
	kind VARCHAR NOT NULL,
	event_id INTEGER,
	edits_id INTEGER,
	content TEXT,
	priority INTEGER NOT NULL,
	state VARCHAR NOT NULL,
	reason VARCHAR,
	detail TEXT,
	folded_into INTEGER,
	muted_by VARCHAR,
	plain BOOLEAN NOT NULL,
	received_at DATETIME NOT NULL,
	not_before DATETIME,
	due_at DATETIME,
	attempts INTEGER NOT NULL,
	sending_at DATETIME,
	deadline_at DATETIME,
	looks INTEGER NOT NULL,
	failed_looks INTEGER NOT NULL,
	may_be_repeat BOOLEAN NOT NULL,
	message_ts VARCHAR,
	sent_at DATETIME,
	given_up_at DATETIME,
	thread_of INTEGER,
	PRIMARY KEY (id),
	CONSTRAINT uq_message_idempotency_key UNIQUE (idempotency_key),
	CONSTRAINT ck_message_kind CHECK (kind IN ('event', 'edit', 'live', 'live_edit', 'summary', 'notice', 'welcome', 'answer', 'escalation', 'escalation_edit')),
	CONSTRAINT ck_message_state CHECK (state IN ('queued', 'sending', 'in_doubt', 'sent', 'folded', 'muted', 'dead_letter')),
	CONSTRAINT ck_message_reason CHECK (reason IS NULL OR reason IN ('refused', 'no_entry', 'unresolved', 'in_vain', 'waited_too_long', 'unsubscribed')),
	CONSTRAINT ck_message_edits CHECK ((kind IN ('edit', 'live_edit', 'escalation_edit')) = (edits_id IS NOT NULL)),
	CONSTRAINT ck_message_event CHECK ((kind IN ('event', 'edit')) = (event_id IS NOT NULL)),
	CONSTRAINT ck_message_content CHECK ((event_id IS NULL) = (content IS NOT NULL)),
	CONSTRAINT ck_message_thread_of CHECK (thread_of IS NULL OR kind = 'event'),
	CONSTRAINT ck_message_folded CHECK ((state = 'folded') = (folded_into IS NOT NULL)),
	CONSTRAINT ck_message_muted CHECK ((state = 'muted') = (muted_by IS NOT NULL)),
	CONSTRAINT ck_message_dead_letter CHECK ((state = 'dead_letter') = (reason IS NOT NULL)),
	CONSTRAINT ck_message_given_up CHECK ((state = 'dead_letter') = (given_up_at IS NOT NULL)),
	CONSTRAINT ck_message_sent CHECK ((state = 'sent') = (sent_at IS NOT NULL)),
	CONSTRAINT ck_message_ts CHECK (state <> 'sent' OR message_ts IS NOT NULL),
	CONSTRAINT ck_message_edit_in_doubt CHECK (edits_id IS NULL OR state <> 'in_doubt'),
	CONSTRAINT ck_message_sending CHECK (state NOT IN ('sending', 'in_doubt') OR (sending_at IS NOT NULL AND deadline_at IS NOT NULL)),
	FOREIGN KEY(event_id) REFERENCES event (id)
);
CREATE INDEX ix_message_event_sent ON message (sent_at, received_at) WHERE state = 'sent' AND kind = 'event';
CREATE INDEX ix_message_dead_letter ON message (channel_id, given_up_at) WHERE state = 'dead_letter';
CREATE INDEX ix_message_sent ON message (channel_id, id) WHERE state = 'sent';
CREATE INDEX ix_message_folded_into ON message (folded_into) WHERE folded_into IS NOT NULL;
CREATE INDEX ix_message_unsent ON message (channel_id, state, priority, id) WHERE state IN ('queued', 'sending', 'in_doubt');
CREATE INDEX ix_message_edits_id ON message (edits_id) WHERE edits_id IS NOT NULL;
CREATE INDEX ix_message_event_id ON message (event_id);
CREATE INDEX ix_message_not_before ON message (not_before) WHERE not_before IS NOT NULL;
CREATE TRIGGER channel_subscription_insert_moves AFTER INSERT ON channel_subscription BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER channel_subscription_update_moves AFTER UPDATE ON channel_subscription BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER channel_subscription_delete_moves AFTER DELETE ON channel_subscription BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER muted_meeting_insert_moves AFTER INSERT ON muted_meeting BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER muted_meeting_update_moves AFTER UPDATE ON muted_meeting BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER muted_meeting_delete_moves AFTER DELETE ON muted_meeting BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER stored_state_insert_moves AFTER INSERT ON stored_state FOR EACH ROW WHEN (NEW.name IN ('regions', 'courses', 'countries')) BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER stored_state_update_moves AFTER UPDATE ON stored_state FOR EACH ROW WHEN (NEW.name IN ('regions', 'courses', 'countries')) BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER stored_state_delete_moves AFTER DELETE ON stored_state FOR EACH ROW WHEN (OLD.name IN ('regions', 'courses', 'countries')) BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER channel_queue_delete_moves AFTER DELETE ON channel_queue BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER channel_queue_update_moves AFTER UPDATE OF channel_id ON channel_queue BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER watch_insert_moves AFTER INSERT ON watch BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER watch_update_moves AFTER UPDATE ON watch BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TRIGGER watch_delete_moves AFTER DELETE ON watch BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END;
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY);
