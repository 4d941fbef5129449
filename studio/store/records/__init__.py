"""What is asked of the queue and what results, as frozen dataclasses: one record for each column of JSON."""
