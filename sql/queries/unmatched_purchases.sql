-- What is paid and has no user, or was posted by a user who does not own it? resolution says what settles it.
SELECT * FROM appstore.unmatched LIMIT 50;
