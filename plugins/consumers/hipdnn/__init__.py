"""hipDNN: overrides of the choice of engines."""
