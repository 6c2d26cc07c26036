WITH numbered AS (
  SELECT auction, bidder, price, channel, coalesce(
    (list_position(['apple', 'google', 'facebook', 'baidu'], lower(channel)) - 1)::VARCHAR,
    nullif(string_split(url, '&channel_id=')[2], '')) AS channel_id
  FROM bid)
SELECT * FROM numbered WHERE channel_id IS NOT NULL
