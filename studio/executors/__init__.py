"""Executors run the service's tasks: an executor starts workers, and a worker claims tasks and carries them out.

Workers and server share only the database and the storage.
"""
