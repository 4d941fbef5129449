"""The HTTP service: middleware, problems, uploads, ranges, routes."""
