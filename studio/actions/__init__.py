"""What the studio can do, one module per noun; the page, the routes and the commands all call these."""
