-- Removes the crash markers of batches that were lost while their process lived: no event is to blame.
-- A worker sends it with the next statement on the connection for markers.
-- Returns no rows.
DELETE FROM appstore.batch_markers AS m WHERE m.lane = ANY (:lanes::bigint[]);
