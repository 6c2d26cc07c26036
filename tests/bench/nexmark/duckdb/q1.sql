SELECT auction, bidder, price * 0.908::DOUBLE, dateTime, extra FROM bid
