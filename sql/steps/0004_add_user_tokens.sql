-- Tokens that mean a user, and when users were forgotten: so far only the audit log knows of them. The order of a token that the shop does not
-- know can have a user, too: the owner of its contract.
ALTER TABLE appstore.orders DROP CONSTRAINT orders_made_for_a_user;
ALTER TABLE appstore.orders ADD CONSTRAINT orders_made_for_a_user CHECK (ordered_at IS NULL OR user_id IS NOT NULL);
CREATE TABLE appstore.user_tokens (
    token   uuid        NOT NULL PRIMARY KEY,
    user_id text        NOT NULL COLLATE "C",
    set_at  timestamptz NOT NULL,
    actor   text        NOT NULL,
    CONSTRAINT user_tokens_user_is_a_name CHECK (char_length(user_id) BETWEEN 1 AND 255)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
COMMENT ON TABLE appstore.user_tokens IS
    'Commands of the shop or an operator: this appAccountToken means this user, in both environments, before and after. No order has such a '
    'number. A row changes only where its user is forgotten, and where the token is set again afterwards.';
COMMENT ON COLUMN appstore.user_tokens.token IS 'The appAccountToken that the app gives for each purchase of the user.';
COMMENT ON COLUMN appstore.user_tokens.set_at IS 'When the command was given.';
COMMENT ON COLUMN appstore.user_tokens.actor IS 'Who called appstore.set_user_token, or began the import that has it.';
-- appstore.forget
CREATE INDEX user_tokens_by_user ON appstore.user_tokens (user_id);

CREATE TABLE appstore.forgotten_users (
    alias        text        NOT NULL COLLATE "C" PRIMARY KEY,
    forgotten_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
COMMENT ON TABLE appstore.forgotten_users IS
    'The aliases that appstore.forget has written for users: a post that came later may claim what was theirs.';
COMMENT ON COLUMN appstore.forgotten_users.alias IS 'forgotten: and a random UUID, which stands in the place of the user.';
COMMENT ON COLUMN appstore.forgotten_users.forgotten_at IS 'When the user was forgotten.';

INSERT INTO appstore.forgotten_users (alias, forgotten_at)
SELECT a.details ->> 'alias', min(a.at) FROM appstore.audit_log AS a
WHERE a.action = 'forget' AND a.details ->> 'alias' IS NOT NULL
GROUP BY 1;

COMMENT ON COLUMN appstore.ownership_claims.source_id IS
    'The order of an order claim; the instant of a link, in microseconds since 1970 with 20 digits; the contract of a restored one; else the '
    'transaction. Where posts claim the same again after a user was forgotten, /2 and so on follows.';

-- Imports set tokens.
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

ALTER TABLE appstore.import_chunks DROP CONSTRAINT import_chunks_phase_is_known;
ALTER TABLE appstore.import_chunks ADD CONSTRAINT import_chunks_phase_is_known CHECK (phase IN ('token', 'ask', 'again', 'link'));
CREATE INDEX import_chunks_with_tokens ON appstore.import_chunks (import_id, first_line) WHERE phase = 'token';
COMMENT ON COLUMN appstore.import_chunks.phase IS
    'token: the tokens of its lines are set. ask: its open items are asked. again: those that Apple did not know are asked once more. link: nothing is '
    'left to ask, and only its users wait.';
COMMENT ON COLUMN appstore.import_chunks.run_at IS
    'When it is due: at once, at the end of a lease or of its back-off; infinity while its tokens are set.';
