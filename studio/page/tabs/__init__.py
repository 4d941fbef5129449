"""The tabs of the page: layout and events, one file each."""
