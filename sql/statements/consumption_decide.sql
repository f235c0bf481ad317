-- Decides how a consumption request is answered.
-- appstore-inbox consumption answer sends it as appstore_operator.
-- Returns one row without a value; fails where the request cannot be answered, or the answer breaks a rule of Apple's.
SELECT appstore.answer_consumption(:environment::appstore.environment, :transaction_id::text, :consented::boolean, :delivery::text,
                                   :sample::boolean, :percentage::integer, :preference::text, :evidence::text, :details::text::jsonb);
