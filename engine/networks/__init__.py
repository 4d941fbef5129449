"""The networks: listener, content and timbre encoders, decoder, synthesizer."""
