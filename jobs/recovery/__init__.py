"""What a topology continues from: checkpoint, manifests and epochs."""
