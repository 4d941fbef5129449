"""The HTTP service, one file per noun: what is asked is read here, and answered by the actions."""
