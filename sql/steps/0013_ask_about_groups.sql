-- Questions about groups of seats can be answered.
INSERT INTO appstore.call_kinds (kind) VALUES ('customer_groups'), ('group_members'), ('seat_info');
