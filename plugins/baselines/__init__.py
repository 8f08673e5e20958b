"""Libraries of others that instances are compared with."""
