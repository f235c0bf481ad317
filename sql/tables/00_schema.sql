-- The schema itself, and the records that `appstore-inbox migrate` keeps about it.

CREATE SCHEMA appstore;
COMMENT ON SCHEMA appstore IS
    'appstore-inbox: created and owned by appstore-inbox migrate. Put other objects into a schema of their own.';

CREATE TABLE appstore.schema_history (
    version     integer     NOT NULL PRIMARY KEY,
    name        text        NOT NULL COLLATE "C",
    is_breaking boolean     NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT schema_history_version_positive CHECK (version > 0)
);
COMMENT ON TABLE appstore.schema_history IS 'The version that the database was created with, and each step applied since.';
COMMENT ON COLUMN appstore.schema_history.version IS 'The number of the step; of the first row the version that the tables were created in.';
COMMENT ON COLUMN appstore.schema_history.name IS 'The file of the step, or tables.';
COMMENT ON COLUMN appstore.schema_history.is_breaking IS
    'The step raised the contract: programs of earlier releases stop working with the database.';
COMMENT ON COLUMN appstore.schema_history.applied_at IS 'When it was applied.';

CREATE TABLE appstore.schema_definitions (
    name    text   NOT NULL PRIMARY KEY COLLATE "C",
    digest  bytea  NOT NULL,
    objects text[] NOT NULL
);
COMMENT ON TABLE appstore.schema_definitions IS
    'The files of functions, views and privileges as they were last applied. migrate replaces all of them when one differs.';
COMMENT ON COLUMN appstore.schema_definitions.name IS 'The path of the file in the folder sql, without its ending.';
COMMENT ON COLUMN appstore.schema_definitions.digest IS 'SHA-256 of the file.';
COMMENT ON COLUMN appstore.schema_definitions.objects IS
    'What the file created, as DROP takes it: ''ROUTINE appstore.admits(integer)''. migrate drops what no file creates any more.';

CREATE TABLE appstore.fence (
    is_only  boolean NOT NULL DEFAULT true PRIMARY KEY,
    contract integer NOT NULL,
    CONSTRAINT fence_is_one_row CHECK (is_only)
);
COMMENT ON TABLE appstore.fence IS
    'One row: the contract between the schema and the programs that use it. Each claim of a worker compares it with its own, so '
    'that a worker of another release claims nothing.';
COMMENT ON COLUMN appstore.fence.is_only IS 'Always true: the key of the only row.';
COMMENT ON COLUMN appstore.fence.contract IS 'The version of the last breaking step.';
