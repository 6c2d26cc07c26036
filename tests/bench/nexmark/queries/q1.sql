-- Every bid in euros; a number with a decimal point is a double here, not a decimal.
SELECT auction, bidder, 0.908e0 * price AS price, dateTime, extra
FROM bid
