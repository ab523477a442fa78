CREATE FUNCTION move_generation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO generation (id, mark) VALUES (1, md5(random()::text || clock_timestamp()::text))
    ON CONFLICT (id) DO UPDATE SET mark = excluded.mark;
    RETURN NULL;
END
$$;
CREATE TABLE acknowledgement (
    message_id bigint NOT NULL,
    asked text NOT NULL,
    state character varying NOT NULL,
    stepped_at timestamp with time zone,
    taken_by character varying,
    taken_at timestamp with time zone,
    CONSTRAINT ck_acknowledgement_state CHECK (((state)::text = ANY ((ARRAY['asked'::character varying, 'reminded'::character varying, 'unanswered'::character varying, 'taken'::character varying, 'replaced'::character varying])::text[]))),
    CONSTRAINT ck_acknowledgement_stepped_at CHECK ((((state)::text <> 'asked'::text) OR (stepped_at IS NULL))),
    CONSTRAINT ck_acknowledgement_taken_at CHECK ((((state)::text = 'taken'::text) = (taken_at IS NOT NULL))),
    CONSTRAINT ck_acknowledgement_taken_by CHECK ((((state)::text = 'taken'::text) = (taken_by IS NOT NULL)))
);
CREATE TABLE alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE audit (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    user_id character varying NOT NULL,
    channel_id character varying NOT NULL,
    action character varying NOT NULL,
    before text,
    after text,
    reference character varying NOT NULL
);
CREATE SEQUENCE audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE audit_id_seq OWNED BY audit.id;
CREATE TABLE book_race (
    race_id character varying NOT NULL,
    region character varying NOT NULL,
    race_date character varying NOT NULL,
    meeting_id text,
    data text NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE channel_queue (
    channel_id character varying NOT NULL,
    state character varying NOT NULL,
    state_reason character varying,
    state_since timestamp with time zone,
    lease_token character varying,
    leased_until timestamp with time zone,
    next_free_at timestamp with time zone NOT NULL,
    CONSTRAINT ck_channel_queue_lease CHECK (((lease_token IS NULL) = (leased_until IS NULL))),
    CONSTRAINT ck_channel_queue_reason CHECK ((((state)::text = ANY ((ARRAY['closed'::character varying, 'on_trial'::character varying])::text[])) = (state_reason IS NOT NULL))),
    CONSTRAINT ck_channel_queue_since CHECK ((((state)::text = 'open'::text) = (state_since IS NULL))),
    CONSTRAINT ck_channel_queue_state CHECK (((state)::text = ANY ((ARRAY['open'::character varying, 'paused'::character varying, 'closed'::character varying, 'on_trial'::character varying])::text[])))
);
CREATE TABLE channel_subscription (
    id bigint NOT NULL,
    channel_id character varying NOT NULL,
    region character varying NOT NULL,
    filter text NOT NULL,
    state character varying NOT NULL,
    state_reason character varying,
    paused_until timestamp with time zone,
    created_by character varying NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE channel_subscription_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE channel_subscription_id_seq OWNED BY channel_subscription.id;
CREATE TABLE event (
    id bigint NOT NULL,
    event_key text NOT NULL,
    version integer NOT NULL,
    kind character varying,
    region character varying,
    race_id character varying,
    meeting_id character varying,
    race_date character varying,
    data text NOT NULL,
    remarks text,
    inbox_id bigint NOT NULL,
    received_at timestamp with time zone NOT NULL,
    posts integer NOT NULL
);
CREATE SEQUENCE event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE event_id_seq OWNED BY event.id;
CREATE TABLE generation (
    id integer NOT NULL,
    mark character varying NOT NULL
);
CREATE SEQUENCE generation_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE generation_id_seq OWNED BY generation.id;
CREATE TABLE inbox (
    id bigint NOT NULL,
    event_key text NOT NULL,
    body_sha256 character varying(64) NOT NULL,
    event_name text,
    body bytea,
    received_at timestamp with time zone NOT NULL,
    state character varying NOT NULL,
    attempts integer NOT NULL,
    not_before timestamp with time zone,
    error text,
    done_at timestamp with time zone
);
CREATE SEQUENCE inbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE inbox_id_seq OWNED BY inbox.id;
CREATE TABLE job_run (
    job character varying NOT NULL,
    slot character varying NOT NULL,
    claimed_by character varying NOT NULL,
    leased_until timestamp with time zone NOT NULL,
    done_at timestamp with time zone
);
CREATE TABLE learnt_race (
    race_id text NOT NULL
);
CREATE TABLE live_meeting (
    message_id bigint NOT NULL,
    race_date character varying NOT NULL,
    region character varying,
    course_id character varying,
    course_name character varying,
    folded_name character varying,
    changes_at timestamp with time zone
);
CREATE TABLE message (
    id bigint NOT NULL,
    channel_id character varying NOT NULL,
    idempotency_key text NOT NULL,
    kind character varying NOT NULL,
    event_id bigint,
    edits_id bigint,
    content text,
    priority integer NOT NULL,
    state character varying NOT NULL,
    reason character varying,
    detail text,
    folded_into bigint,
    muted_by character varying,
    plain boolean NOT NULL,
    received_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    due_at timestamp with time zone,
    attempts integer NOT NULL,
    sending_at timestamp with time zone,
    deadline_at timestamp with time zone,
    looks integer NOT NULL,
    failed_looks integer NOT NULL,
    may_be_repeat boolean NOT NULL,
    message_ts character varying,
    sent_at timestamp with time zone,
    given_up_at timestamp with time zone,
    thread_of bigint,
    CONSTRAINT ck_message_content CHECK (((event_id IS NULL) = (content IS NOT NULL))),
    CONSTRAINT ck_message_dead_letter CHECK ((((state)::text = 'dead_letter'::text) = (reason IS NOT NULL))),
    CONSTRAINT ck_message_edit_in_doubt CHECK (((edits_id IS NULL) OR ((state)::text <> 'in_doubt'::text))),
    CONSTRAINT ck_message_edits CHECK ((((kind)::text = ANY ((ARRAY['edit'::character varying, 'live_edit'::character varying, 'escalation_edit'::character varying])::text[])) = (edits_id IS NOT NULL))),
    CONSTRAINT ck_message_event CHECK ((((kind)::text = ANY ((ARRAY['event'::character varying, 'edit'::character varying])::text[])) = (event_id IS NOT NULL))),
    CONSTRAINT ck_message_folded CHECK ((((state)::text = 'folded'::text) = (folded_into IS NOT NULL))),
    CONSTRAINT ck_message_given_up CHECK ((((state)::text = 'dead_letter'::text) = (given_up_at IS NOT NULL))),
    CONSTRAINT ck_message_kind CHECK (((kind)::text = ANY ((ARRAY['event'::character varying, 'edit'::character varying, 'live'::character varying, 'live_edit'::character varying, 'summary'::character varying, 'notice'::character varying, 'welcome'::character varying, 'answer'::character varying, 'escalation'::character varying, 'escalation_edit'::character varying])::text[]))),
    CONSTRAINT ck_message_muted CHECK ((((state)::text = 'muted'::text) = (muted_by IS NOT NULL))),
    CONSTRAINT ck_message_reason CHECK (((reason IS NULL) OR ((reason)::text = ANY ((ARRAY['refused'::character varying, 'no_entry'::character varying, 'unresolved'::character varying, 'in_vain'::character varying, 'waited_too_long'::character varying, 'unsubscribed'::character varying])::text[])))),
    CONSTRAINT ck_message_sending CHECK ((((state)::text <> ALL ((ARRAY['sending'::character varying, 'in_doubt'::character varying])::text[])) OR ((sending_at IS NOT NULL) AND (deadline_at IS NOT NULL)))),
    CONSTRAINT ck_message_sent CHECK ((((state)::text = 'sent'::text) = (sent_at IS NOT NULL))),
    CONSTRAINT ck_message_state CHECK (((state)::text = ANY ((ARRAY['queued'::character varying, 'sending'::character varying, 'in_doubt'::character varying, 'sent'::character varying, 'folded'::character varying, 'muted'::character varying, 'dead_letter'::character varying])::text[]))),
    CONSTRAINT ck_message_thread_of CHECK (((thread_of IS NULL) OR ((kind)::text = 'event'::text))),
    CONSTRAINT ck_message_ts CHECK ((((state)::text <> 'sent'::text) OR (message_ts IS NOT NULL)))
);
CREATE SEQUENCE message_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE message_id_seq OWNED BY message.id;
CREATE TABLE method_hold (
    method character varying NOT NULL,
    until timestamp with time zone NOT NULL,
    reason character varying NOT NULL
);
CREATE TABLE method_pace (
    method character varying NOT NULL,
    calls double precision NOT NULL,
    counted_at timestamp with time zone NOT NULL
);
CREATE TABLE missing (
    key text NOT NULL,
    kind character varying NOT NULL,
    name text NOT NULL,
    race_id text,
    region character varying,
    race_date character varying NOT NULL,
    found_at timestamp with time zone NOT NULL,
    told_at timestamp with time zone,
    came_at timestamp with time zone,
    CONSTRAINT ck_missing_kind CHECK (((kind)::text = ANY ((ARRAY['race'::character varying, 'delivery'::character varying, 'day'::character varying, 'subscription'::character varying])::text[])))
);
CREATE TABLE muted_meeting (
    id bigint NOT NULL,
    channel_id character varying NOT NULL,
    meeting text NOT NULL,
    muted_by character varying NOT NULL,
    muted_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);
CREATE SEQUENCE muted_meeting_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE muted_meeting_id_seq OWNED BY muted_meeting.id;
CREATE TABLE named_race (
    race_id text NOT NULL,
    event_key text NOT NULL
);
CREATE TABLE notice (
    key text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE quota_sample (
    id bigint NOT NULL,
    taken_at timestamp with time zone NOT NULL,
    month character varying NOT NULL,
    used integer NOT NULL,
    certain boolean NOT NULL,
    source character varying,
    errors integer,
    refusals integer
);
CREATE SEQUENCE quota_sample_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE quota_sample_id_seq OWNED BY quota_sample.id;
CREATE TABLE stored_state (
    name character varying NOT NULL,
    value text NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE watch (
    id bigint NOT NULL,
    channel_id character varying NOT NULL,
    person_id character varying,
    kind character varying NOT NULL,
    name text NOT NULL,
    name_key text NOT NULL,
    created_by character varying NOT NULL,
    created_at timestamp with time zone NOT NULL,
    paused_until timestamp with time zone,
    CONSTRAINT ck_watch_kind CHECK (((kind)::text = ANY ((ARRAY['horse'::character varying, 'trainer'::character varying, 'jockey'::character varying])::text[])))
);
CREATE SEQUENCE watch_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE watch_id_seq OWNED BY watch.id;
CREATE TABLE webhook_subscription (
    id bigint NOT NULL,
    url text NOT NULL,
    events character varying NOT NULL,
    region character varying,
    secret bytea,
    answer bytea,
    created_at timestamp with time zone NOT NULL,
    retired_at timestamp with time zone
);
CREATE SEQUENCE webhook_subscription_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE webhook_subscription_id_seq OWNED BY webhook_subscription.id;
ALTER TABLE ONLY audit ALTER COLUMN id SET DEFAULT nextval('audit_id_seq'::regclass);
ALTER TABLE ONLY channel_subscription ALTER COLUMN id SET DEFAULT nextval('channel_subscription_id_seq'::regclass);
ALTER TABLE ONLY event ALTER COLUMN id SET DEFAULT nextval('event_id_seq'::regclass);
ALTER TABLE ONLY generation ALTER COLUMN id SET DEFAULT nextval('generation_id_seq'::regclass);
ALTER TABLE ONLY inbox ALTER COLUMN id SET DEFAULT nextval('inbox_id_seq'::regclass);
ALTER TABLE ONLY message ALTER COLUMN id SET DEFAULT nextval('message_id_seq'::regclass);
ALTER TABLE ONLY muted_meeting ALTER COLUMN id SET DEFAULT nextval('muted_meeting_id_seq'::regclass);
ALTER TABLE ONLY quota_sample ALTER COLUMN id SET DEFAULT nextval('quota_sample_id_seq'::regclass);
ALTER TABLE ONLY watch ALTER COLUMN id SET DEFAULT nextval('watch_id_seq'::regclass);
ALTER TABLE ONLY webhook_subscription ALTER COLUMN id SET DEFAULT nextval('webhook_subscription_id_seq'::regclass);
ALTER TABLE ONLY acknowledgement
    ADD CONSTRAINT acknowledgement_pkey PRIMARY KEY (message_id);
ALTER TABLE ONLY alembic_version
    ADD CONSTRAINT alembic_version_pkey PRIMARY KEY (version_num);
ALTER TABLE ONLY audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY book_race
    ADD CONSTRAINT book_race_pkey PRIMARY KEY (race_id);
ALTER TABLE ONLY channel_queue
    ADD CONSTRAINT channel_queue_pkey PRIMARY KEY (channel_id);
ALTER TABLE ONLY channel_subscription
    ADD CONSTRAINT channel_subscription_pkey PRIMARY KEY (id);
ALTER TABLE ONLY event
    ADD CONSTRAINT event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY generation
    ADD CONSTRAINT generation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (id);
ALTER TABLE ONLY job_run
    ADD CONSTRAINT job_run_pkey PRIMARY KEY (job, slot);
ALTER TABLE ONLY learnt_race
    ADD CONSTRAINT learnt_race_pkey PRIMARY KEY (race_id);
ALTER TABLE ONLY live_meeting
    ADD CONSTRAINT live_meeting_pkey PRIMARY KEY (message_id);
ALTER TABLE ONLY message
    ADD CONSTRAINT message_pkey PRIMARY KEY (id);
ALTER TABLE ONLY method_hold
    ADD CONSTRAINT method_hold_pkey PRIMARY KEY (method);
ALTER TABLE ONLY method_pace
    ADD CONSTRAINT method_pace_pkey PRIMARY KEY (method);
ALTER TABLE ONLY missing
    ADD CONSTRAINT missing_pkey PRIMARY KEY (key);
ALTER TABLE ONLY muted_meeting
    ADD CONSTRAINT muted_meeting_pkey PRIMARY KEY (id);
ALTER TABLE ONLY named_race
    ADD CONSTRAINT named_race_pkey PRIMARY KEY (race_id, event_key);
ALTER TABLE ONLY notice
    ADD CONSTRAINT notice_pkey PRIMARY KEY (key);
ALTER TABLE ONLY quota_sample
    ADD CONSTRAINT quota_sample_pkey PRIMARY KEY (id);
ALTER TABLE ONLY stored_state
    ADD CONSTRAINT stored_state_pkey PRIMARY KEY (name);
ALTER TABLE ONLY channel_subscription
    ADD CONSTRAINT uq_channel_subscription_channel_id_region UNIQUE (channel_id, region);
ALTER TABLE ONLY event
    ADD CONSTRAINT uq_event_event_key_version UNIQUE (event_key, version);
ALTER TABLE ONLY inbox
    ADD CONSTRAINT uq_inbox_event_key_body_sha256 UNIQUE (event_key, body_sha256);
ALTER TABLE ONLY message
    ADD CONSTRAINT uq_message_idempotency_key UNIQUE (idempotency_key);
ALTER TABLE ONLY watch
    ADD CONSTRAINT uq_watch_channel_id_kind_name_key UNIQUE (channel_id, kind, name_key);
ALTER TABLE ONLY watch
    ADD CONSTRAINT watch_pkey PRIMARY KEY (id);
ALTER TABLE ONLY webhook_subscription
    ADD CONSTRAINT webhook_subscription_pkey PRIMARY KEY (id);
CREATE INDEX ix_acknowledgement_open ON acknowledgement USING btree (message_id) WHERE ((state)::text = ANY ((ARRAY['asked'::character varying, 'reminded'::character varying])::text[]));
CREATE INDEX ix_audit_channel_id ON audit USING btree (channel_id, id);
CREATE INDEX ix_audit_user_id ON audit USING btree (user_id, id);
CREATE INDEX ix_book_race_day ON book_race USING btree (race_date, region);
CREATE INDEX ix_book_race_meeting_id ON book_race USING btree (meeting_id) WHERE (meeting_id IS NOT NULL);
CREATE INDEX ix_event_meeting_id ON event USING btree (meeting_id);
CREATE INDEX ix_event_race_date ON event USING btree (race_date, kind, received_at);
CREATE INDEX ix_event_race_id ON event USING btree (race_id);
CREATE INDEX ix_event_without_race_id ON event USING btree (race_date, received_at) WHERE (race_id IS NULL);
CREATE INDEX ix_inbox_new ON inbox USING btree (received_at, id) WHERE ((state)::text = 'new'::text);
CREATE INDEX ix_inbox_received_at ON inbox USING btree (received_at, event_name);
CREATE INDEX ix_inbox_urgent ON inbox USING btree (received_at, id) WHERE (((state)::text = 'new'::text) AND (event_name = ANY (ARRAY['race.abandoned'::text, 'meeting.abandoned'::text])));
CREATE INDEX ix_live_meeting_changes_at ON live_meeting USING btree (changes_at) WHERE (changes_at IS NOT NULL);
CREATE INDEX ix_live_meeting_race_date ON live_meeting USING btree (race_date);
CREATE INDEX ix_message_dead_letter ON message USING btree (channel_id, given_up_at) WHERE ((state)::text = 'dead_letter'::text);
CREATE INDEX ix_message_edits_id ON message USING btree (edits_id) WHERE (edits_id IS NOT NULL);
CREATE INDEX ix_message_event_id ON message USING btree (event_id);
CREATE INDEX ix_message_event_sent ON message USING btree (sent_at, received_at) WHERE (((state)::text = 'sent'::text) AND ((kind)::text = 'event'::text));
CREATE INDEX ix_message_folded_into ON message USING btree (folded_into) WHERE (folded_into IS NOT NULL);
CREATE INDEX ix_message_not_before ON message USING btree (not_before) WHERE (not_before IS NOT NULL);
CREATE INDEX ix_message_sent ON message USING btree (channel_id, id) WHERE ((state)::text = 'sent'::text);
CREATE INDEX ix_message_unsent ON message USING btree (channel_id, state, priority, id) WHERE ((state)::text = ANY ((ARRAY['queued'::character varying, 'sending'::character varying, 'in_doubt'::character varying])::text[]));
CREATE INDEX ix_missing_open ON missing USING btree (key) WHERE (came_at IS NULL);
CREATE INDEX ix_muted_meeting_muted_at ON muted_meeting USING btree (muted_at);
CREATE INDEX ix_quota_sample_taken_at ON quota_sample USING btree (taken_at);
CREATE TRIGGER channel_queue_delete_moves AFTER DELETE ON channel_queue FOR EACH STATEMENT EXECUTE FUNCTION move_generation();
CREATE TRIGGER channel_queue_update_moves AFTER UPDATE OF channel_id ON channel_queue FOR EACH STATEMENT EXECUTE FUNCTION move_generation();
CREATE TRIGGER channel_subscription_delete_moves AFTER DELETE ON channel_subscription FOR EACH STATEMENT EXECUTE FUNCTION move_generation();
CREATE TRIGGER channel_subscription_insert_moves AFTER INSERT ON channel_subscription FOR EACH STATEMENT EXECUTE FUNCTION move_generation();
CREATE TRIGGER channel_subscription_update_moves AFTER UPDATE ON channel_subscription FOR EACH STATEMENT EXECUTE FUNCTION move_generation();
CREATE TRIGGER muted_meeting_delete_moves AFTER DELETE ON muted_meeting FOR EACH STATEMENT EXECUTE FUNCTION move_generation();
CREATE TRIGGER muted_meeting_insert_moves AFTER INSERT ON muted_meeting FOR EACH STATEMENT EXECUTE FUNCTION move_generation();
CREATE TRIGGER muted_meeting_update_moves AFTER UPDATE ON muted_meeting FOR EACH STATEMENT EXECUTE FUNCTION move_generation();
CREATE TRIGGER stored_state_delete_moves AFTER DELETE ON stored_state FOR EACH ROW WHEN (((old.name)::text = ANY ((ARRAY['regions'::character varying, 'courses'::character varying, 'countries'::character varying])::text[]))) EXECUTE FUNCTION move_generation();
CREATE TRIGGER stored_state_insert_moves AFTER INSERT ON stored_state FOR EACH ROW WHEN (((new.name)::text = ANY ((ARRAY['regions'::character varying, 'courses'::character varying, 'countries'::character varying])::text[]))) EXECUTE FUNCTION move_generation();
CREATE TRIGGER stored_state_update_moves AFTER UPDATE ON stored_state FOR EACH ROW WHEN (((new.name)::text = ANY ((ARRAY['regions'::character varying, 'courses'::character varying, 'countries'::character varying])::text[]))) EXECUTE FUNCTION move_generation();
CREATE TRIGGER watch_delete_moves AFTER DELETE ON watch FOR EACH STATEMENT EXECUTE FUNCTION move_generation();
CREATE TRIGGER watch_insert_moves AFTER INSERT ON watch FOR EACH STATEMENT EXECUTE FUNCTION move_generation();
CREATE TRIGGER watch_update_moves AFTER UPDATE ON watch FOR EACH STATEMENT EXECUTE FUNCTION move_generation();
ALTER TABLE ONLY event
    ADD CONSTRAINT event_inbox_id_fkey FOREIGN KEY (inbox_id) REFERENCES inbox(id);
ALTER TABLE ONLY message
    ADD CONSTRAINT message_event_id_fkey FOREIGN KEY (event_id) REFERENCES event(id);
