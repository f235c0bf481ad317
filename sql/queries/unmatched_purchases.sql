-- Which purchases are paid and have no user, or were posted by a user who does not own them? resolution says what to do.
SELECT * FROM appstore.unmatched LIMIT 50;
