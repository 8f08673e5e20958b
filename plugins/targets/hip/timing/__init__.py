"""Times from machine code: tables of devices, and what puts the emulated device's counts together."""
