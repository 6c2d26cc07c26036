-- Every bid with the day and the minute that its file would be named after; here all are in one folder.
SELECT auction, bidder, price, dateTime, extra, STRFTIME(dateTime, '%Y-%m-%d') AS dt, STRFTIME(dateTime, '%H:%M') AS hm
FROM bid
