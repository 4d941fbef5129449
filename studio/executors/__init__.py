"""What does the work of the service: an executor starts workers, and a worker claims tasks and carries them out.

They and the server share the database and the storage, and nothing else.
"""
