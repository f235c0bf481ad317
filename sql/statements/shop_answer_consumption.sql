-- Decides how a consumption request is answered.
-- The API's listener sends it for PUT /v1/consumption/{environment}/{transactionId}.
-- Returns one row; refusal is the state or rule that refuses the decision, or null.
SELECT refusal, message
FROM appstore.api_answer_consumption(:key_hash::bytea, :environment::appstore.environment, :transaction_id::text, :consented::boolean,
                                     :delivery::text, :sample::boolean, :percentage::integer, :preference::text, :evidence::text,
                                     :details::text::jsonb);
