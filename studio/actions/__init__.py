"""What the studio can do, a module for each noun: the page's tabs and the service's routes both call these."""
