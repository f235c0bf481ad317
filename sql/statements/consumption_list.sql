-- Lists consumption requests: the one about a transaction, or those that Apple waits for.
-- appstore-inbox consumption sends it as appstore_operator.
-- Returns a JSON object for each, the most urgent first.
SELECT appstore.consumption_documents(:environment::text::appstore.environment, :transaction_id::text, NULL, :states::text[], :limit::integer)
       AS request;
