SELECT auction, bidder, 0.908E0 * price, dateTime, extra FROM bid
