"""What sweep and compare conclude from times that vary."""
