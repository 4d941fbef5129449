"""The HTTP service, one file per noun: routes parse requests and call the actions."""
