-- Types that more than one table or function uses.

CREATE TYPE appstore.environment AS ENUM ('Production', 'Sandbox');
COMMENT ON TYPE appstore.environment IS 'Apple''s environment. Part of every key of the ledger: Sandbox events never touch Production rows.';

CREATE TYPE appstore.claim_kind AS ENUM ('client', 'link', 'order', 'receipt', 'restored', 'token');
COMMENT ON TYPE appstore.claim_kind IS
    'The origin of a claim to a contract. The order of declaration is the rank: of claims of one instant the one of the later kind counts.';

CREATE TYPE appstore.result AS ENUM ('applied', 'superseded', 'no_effect', 'duplicate', 'unhandled', 'rejected', 'failed', 'discarded');
COMMENT ON TYPE appstore.result IS 'The result of an event.';

CREATE TYPE appstore.contract_key AS (environment appstore.environment, id text);
COMMENT ON TYPE appstore.contract_key IS 'Names a contract: its environment and its original_transaction_id.';
