-- What happened to a customer's contract? Insert its originalTransactionId.
SELECT * FROM appstore.timeline('Production', '2000000123456789');
