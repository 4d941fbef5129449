"""Where the pitch detector's frames lie, and what it detects."""

DETECTOR_RATE, DETECTOR_HOP = 16_000, 256  # hertz, and samples
DETECTOR_LIMITS = 46.875, 2093.75  # hertz
