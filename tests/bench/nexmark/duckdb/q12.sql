SELECT to_timestamp(floor(epoch(dateTime) / 10) * 10), bidder, count(*) FROM bid GROUP BY ALL
