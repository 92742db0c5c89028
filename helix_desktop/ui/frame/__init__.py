"""Parts of the window's frame: gauge, job lines, banners, and the rows they show."""
