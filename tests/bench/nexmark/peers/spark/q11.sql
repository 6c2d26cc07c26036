SELECT bidder, COUNT(*) AS many, session_window(dateTime, '10 seconds').start AS begins,
  session_window(dateTime, '10 seconds').end AS ends
FROM bid
GROUP BY session_window(dateTime, '10 seconds'), bidder
