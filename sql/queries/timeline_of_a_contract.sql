-- What happened to a customer? Put the originalTransactionId here.
SELECT * FROM appstore.timeline('Production', '2000000123456789');
