-- Imports: customers whose ids are in a file, and what Apple says of them. An item is as narrow as it can be, since a file may have millions.

CREATE TYPE appstore.import_item_state AS ENUM ('open', 'again', 'found', 'covered', 'unknown_to_apple', 'failed');
COMMENT ON TYPE appstore.import_item_state IS
    'open: not asked yet, or not completely. again: Apple knows no such id; asked once more a day later. The others are final: found; covered by the '
    'answer about another item; unknown_to_apple; failed, which means that Apple refused the question.';

CREATE TABLE appstore.imports (
    import_id     integer     NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bundle_id     text        NOT NULL COLLATE "C",
    environment   appstore.environment,
    depth         text        NOT NULL COLLATE "C",
    file_name     text        NOT NULL,
    file_sha256   bytea,
    state         text        NOT NULL COLLATE "C" DEFAULT 'loading',
    made_by       text        NOT NULL,
    made_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    touched_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at      timestamptz,
    items         integer     NOT NULL DEFAULT 0,
    last_line     integer     NOT NULL DEFAULT 0,
    next_line     integer     NOT NULL DEFAULT 1,
    repeated      integer     NOT NULL DEFAULT 0,
    bad_lines     integer     NOT NULL DEFAULT 0,
    found         integer     NOT NULL DEFAULT 0,
    covered       integer     NOT NULL DEFAULT 0,
    unknown       integer     NOT NULL DEFAULT 0,
    failed        integer     NOT NULL DEFAULT 0,
    CONSTRAINT imports_depth_is_known CHECK (depth IN ('statuses', 'history')),
    -- loading can become running, or is removed; running can become paused, stopped or done; paused running or stopped; stopped running.
    CONSTRAINT imports_state_is_known CHECK (state IN ('loading', 'running', 'paused', 'stopped', 'done')),
    CONSTRAINT imports_file_is_known CHECK (state = 'loading' OR octet_length(file_sha256) = 32),
    CONSTRAINT imports_ended_in_the_end CHECK ((state IN ('stopped', 'done')) = (ended_at IS NOT NULL))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE appstore.imports IS 'The imports of files with ids of customers, one row each. appstore.import_status shows them with their progress.';
COMMENT ON COLUMN appstore.imports.import_id IS 'The number of the import.';
COMMENT ON COLUMN appstore.imports.environment IS 'The environment of all items that name none; null to ask Production first, then Sandbox.';
COMMENT ON COLUMN appstore.imports.depth IS 'statuses: what customers may use today. history: all their transactions.';
COMMENT ON COLUMN appstore.imports.file_name IS 'The name of the file, for people.';
COMMENT ON COLUMN appstore.imports.file_sha256 IS 'By this the same file is known again; null while it is loaded.';
COMMENT ON COLUMN appstore.imports.state IS 'loading: the file is being read; running; paused; stopped: an operator ended it; done.';
COMMENT ON COLUMN appstore.imports.made_by IS 'The login that began it, and the actor of its owner links.';
COMMENT ON COLUMN appstore.imports.made_at IS 'When it was begun, and from when its owner links count.';
COMMENT ON COLUMN appstore.imports.touched_at IS 'When a part of the file was loaded last. An import that was not touched for an hour while it loads is removed.';
COMMENT ON COLUMN appstore.imports.ended_at IS 'When it was stopped or done.';
COMMENT ON COLUMN appstore.imports.items IS 'Items, each id once.';
COMMENT ON COLUMN appstore.imports.last_line IS 'The greatest line of its items.';
COMMENT ON COLUMN appstore.imports.next_line IS 'The first line that is in no chunk yet.';
COMMENT ON COLUMN appstore.imports.repeated IS 'Lines whose id an earlier line had.';
COMMENT ON COLUMN appstore.imports.bad_lines IS 'Lines that were not imported.';
COMMENT ON COLUMN appstore.imports.found IS 'Items in this state; this column and the following ones without those that a chunk has not reported yet.';
COMMENT ON COLUMN appstore.imports.covered IS 'Items in this state.';
COMMENT ON COLUMN appstore.imports.unknown IS 'Items in the state unknown_to_apple.';
COMMENT ON COLUMN appstore.imports.failed IS 'Items in this state.';
-- The same file again.
CREATE INDEX imports_by_file ON appstore.imports (file_sha256);

CREATE TABLE appstore.import_items (
    import_id   integer  NOT NULL,
    line        integer  NOT NULL,
    environment appstore.environment NOT NULL,
    state       appstore.import_item_state NOT NULL DEFAULT 'open',
    event_id    bigint,
    last_event_id bigint,
    asked       smallint NOT NULL DEFAULT 0,
    failures    smallint NOT NULL DEFAULT 0,
    is_given    boolean  NOT NULL,
    id          text     NOT NULL COLLATE "C",
    user_id     text     COLLATE "C",
    revision    text     COLLATE "C",
    reason      text     COLLATE "C",
    PRIMARY KEY (import_id, line),
    -- It goes into a URL.
    CONSTRAINT import_items_revision_is_short CHECK (octet_length(revision) <= 2048)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.import_items IS 'The ids of an import, each once. They go 90 days after the end of the import.';
COMMENT ON COLUMN appstore.import_items.import_id IS 'The import.';
COMMENT ON COLUMN appstore.import_items.line IS 'The line of the file, counted from 1 with the header.';
COMMENT ON COLUMN appstore.import_items.environment IS 'Where it is asked next, or was found.';
COMMENT ON COLUMN appstore.import_items.state IS 'What became of it so far.';
COMMENT ON COLUMN appstore.import_items.event_id IS 'The first event that its answer became; null where the answer was empty.';
COMMENT ON COLUMN appstore.import_items.last_event_id IS 'The last one: its user becomes the owner when none of them waits in the queue.';
COMMENT ON COLUMN appstore.import_items.asked IS 'Requests that were answered, refused or failed.';
COMMENT ON COLUMN appstore.import_items.failures IS 'Requests in a row that failed for this reason.';
COMMENT ON COLUMN appstore.import_items.is_given IS 'The environment is that of the file or of the command: no other one is asked.';
COMMENT ON COLUMN appstore.import_items.id IS 'The id of any transaction of the customer.';
COMMENT ON COLUMN appstore.import_items.user_id IS 'Who owns it, until that is an owner link.';
COMMENT ON COLUMN appstore.import_items.revision IS 'Where its transaction history goes on, while it is being read.';
COMMENT ON COLUMN appstore.import_items.reason IS
    'Why it failed, or fails; contract_unclear: the answer has several contracts and does not tell to which one the id belongs; not_linked: no '
    'purchase is known to which its user could be linked; not_owner: another user owns that purchase; database_ and a code: the database refuses it.';
-- Each id once, and the items that an answer covers. id is first, so that the planner does not take this index for the lines of a chunk.
CREATE UNIQUE INDEX import_items_by_id ON appstore.import_items (id, import_id);
-- For appstore.forget.
CREATE INDEX import_items_by_user ON appstore.import_items (user_id) WHERE user_id IS NOT NULL;

CREATE TABLE appstore.import_chunks (
    import_id   integer     NOT NULL,
    first_line  integer     NOT NULL,
    end_line    integer     NOT NULL,
    phase       text        NOT NULL COLLATE "C",
    environment appstore.environment NOT NULL,
    run_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    is_leased   boolean     NOT NULL DEFAULT false,
    epoch       bigint      NOT NULL DEFAULT 0,
    failures    integer     NOT NULL DEFAULT 0,
    last_error  text,
    silent_since timestamptz,
    link_at     timestamptz,
    waiting     integer     NOT NULL DEFAULT 0,
    found       integer     NOT NULL DEFAULT 0,
    covered     integer     NOT NULL DEFAULT 0,
    unknown     integer     NOT NULL DEFAULT 0,
    failed      integer     NOT NULL DEFAULT 0,
    reported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (import_id, first_line),
    -- token can become ask, again, link or be removed; ask again, link or be removed; again link or be removed; link be removed.
    CONSTRAINT import_chunks_phase_is_known CHECK (phase IN ('token', 'ask', 'again', 'link')),
    CONSTRAINT import_chunks_link_at_last CHECK (phase <> 'link' OR link_at IS NOT NULL),
    CONSTRAINT import_chunks_is_a_range CHECK (first_line < end_line)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE appstore.import_chunks IS
    'The parts of an import that are being worked on, at most 200 lines each. A worker leases a part as it leases a call; a worker with an older '
    'epoch changes nothing. A part whose items are all settled is deleted.';
COMMENT ON COLUMN appstore.import_chunks.import_id IS 'The import.';
COMMENT ON COLUMN appstore.import_chunks.first_line IS 'Its first line.';
COMMENT ON COLUMN appstore.import_chunks.end_line IS 'The line after its last one.';
COMMENT ON COLUMN appstore.import_chunks.phase IS
    'token: the tokens of its lines are set. ask: its open items are asked. again: those that Apple did not know are asked once more. link: nothing is '
    'left to ask, and only its users wait.';
COMMENT ON COLUMN appstore.import_chunks.environment IS 'Where its next items are asked.';
COMMENT ON COLUMN appstore.import_chunks.run_at IS
    'When it is due: at once, at the end of a lease or of its back-off; infinity while its tokens are set.';
COMMENT ON COLUMN appstore.import_chunks.is_leased IS 'Whether a worker has it until run_at.';
COMMENT ON COLUMN appstore.import_chunks.epoch IS 'Number of leases so far.';
COMMENT ON COLUMN appstore.import_chunks.failures IS 'Leases in a row that failed.';
COMMENT ON COLUMN appstore.import_chunks.last_error IS 'Why the latest lease ended early; null after one that did not.';
COMMENT ON COLUMN appstore.import_chunks.silent_since IS
    'When a request first got no answer of Apple''s; null after one that was answered. After a day such failures count, also while Apple answers nothing.';
COMMENT ON COLUMN appstore.import_chunks.link_at IS
    'When the users of its items that were found become owners, whatever its phase, unless it is leased; null while there are none.';
COMMENT ON COLUMN appstore.import_chunks.waiting IS 'Items that are asked once more.';
COMMENT ON COLUMN appstore.import_chunks.found IS
    'Items that became found since reported_at; this column and the following ones are added to the import every few seconds, not with each item.';
COMMENT ON COLUMN appstore.import_chunks.covered IS 'Items that became covered since then, in any chunk.';
COMMENT ON COLUMN appstore.import_chunks.unknown IS 'Items that became unknown_to_apple since then.';
COMMENT ON COLUMN appstore.import_chunks.failed IS 'Items that failed since then.';
COMMENT ON COLUMN appstore.import_chunks.reported_at IS 'When these numbers were added to the import.';
-- The chunks that are due.
CREATE INDEX import_chunks_due ON appstore.import_chunks (import_id, environment, run_at) WHERE phase <> 'link';
CREATE INDEX import_chunks_to_link ON appstore.import_chunks (link_at) WHERE link_at IS NOT NULL;
CREATE INDEX import_chunks_with_tokens ON appstore.import_chunks (import_id, first_line) WHERE phase = 'token';

CREATE TABLE appstore.import_links_due (
    import_id  integer NOT NULL,
    first_line integer NOT NULL,
    line       integer NOT NULL,
    PRIMARY KEY (import_id, first_line, line)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE appstore.import_links_due IS
    'Items that an answer covered while another transaction had locked their chunk, so that its link_at could not be set. An item is covered once: to '
    'insert its row waits for no other transaction.';
COMMENT ON COLUMN appstore.import_links_due.import_id IS 'The import.';
COMMENT ON COLUMN appstore.import_links_due.first_line IS 'The first line of the chunk.';
COMMENT ON COLUMN appstore.import_links_due.line IS 'The line of the item.';

CREATE TABLE appstore.import_tokens (
    import_id integer NOT NULL,
    line      integer NOT NULL,
    id        text    NOT NULL COLLATE "C",
    user_id   text    NOT NULL COLLATE "C",
    token     uuid    NOT NULL,
    error     text    COLLATE "C",
    PRIMARY KEY (import_id, line)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.import_tokens IS
    'The lines of an import with a token that is not set: not yet, or refused. They go 90 days after the end of the import.';
COMMENT ON COLUMN appstore.import_tokens.import_id IS 'The import.';
COMMENT ON COLUMN appstore.import_tokens.line IS 'The line of the file.';
COMMENT ON COLUMN appstore.import_tokens.id IS 'The id of the line, of which import_items has a row.';
COMMENT ON COLUMN appstore.import_tokens.token IS 'The appAccountToken that means the user.';
COMMENT ON COLUMN appstore.import_tokens.error IS
    'Why it was refused: token_of_order, token_of_another_user, or database_ and a code; null as long as it is to be set.';
-- For appstore.forget.
CREATE INDEX import_tokens_by_user ON appstore.import_tokens (user_id);

CREATE TABLE appstore.import_rates (
    import_id integer     NOT NULL,
    at        timestamptz NOT NULL,
    settled   integer     NOT NULL,
    PRIMARY KEY (import_id, at)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE appstore.import_rates IS 'How many items were settled in each ten seconds of the last minutes, for the estimate of the time left.';
COMMENT ON COLUMN appstore.import_rates.import_id IS 'The import.';
COMMENT ON COLUMN appstore.import_rates.at IS 'The begin of the ten seconds; there is a row only where something was settled.';
COMMENT ON COLUMN appstore.import_rates.settled IS 'Items that became found, covered, unknown or failed.';

CREATE TABLE appstore.customer_revisions (
    environment             appstore.environment NOT NULL,
    original_transaction_id text NOT NULL COLLATE "C",
    revision                text NOT NULL COLLATE "C",
    PRIMARY KEY (original_transaction_id, environment),
    -- It goes into a URL.
    CONSTRAINT customer_revisions_revision_is_short CHECK (octet_length(revision) <= 2048)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.customer_revisions IS
    'Until where the transaction history of a customer was read, under each id that was asked for or found: a later import asks for what is new only.';
COMMENT ON COLUMN appstore.customer_revisions.original_transaction_id IS 'An originalTransactionId, or the id that a file names.';
COMMENT ON COLUMN appstore.customer_revisions.revision IS 'Apple''s revision of the last page.';

CREATE TABLE appstore.live_since (
    bundle_id text        NOT NULL PRIMARY KEY COLLATE "C",
    since     timestamptz NOT NULL,
    set_by    text        NOT NULL,
    set_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE appstore.live_since IS
    'From when on an app''s effects are news: the feed tells none that occurred before, whatever its source. An app without a row has no past.';
COMMENT ON COLUMN appstore.live_since.since IS
    'Written by appstore.set_live_since, or by the app''s first import: when its first notification came that is still known, else that instant.';
COMMENT ON COLUMN appstore.live_since.set_by IS 'The login that wrote it.';
COMMENT ON COLUMN appstore.live_since.set_at IS 'When it was written.';
