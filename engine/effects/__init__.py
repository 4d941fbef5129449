"""After-effects of a take: noise reduction, EQ, de-esser, compressor, reverb."""
