"""What the studio keeps: database, files, links, tasks, voices."""
