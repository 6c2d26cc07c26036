"""What a running topology shows of its streams, over epochs that fade."""
