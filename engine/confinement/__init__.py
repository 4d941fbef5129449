"""What a process gives up that works on strangers' files: other files, processes, programs, network."""
