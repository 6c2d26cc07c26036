SELECT auction, bidder, price * 0.908::DOUBLE AS euros,
  if(hour(dateTime) IN (7, 19), 'otherTime', if(hour(dateTime) BETWEEN 8 AND 18, 'dayTime', 'nightTime')),
  dateTime, extra, len(list_filter(string_split(extra, ''), lambda letter: letter = 'c'))
FROM bid
WHERE euros > 1000000 AND euros < 50000000
