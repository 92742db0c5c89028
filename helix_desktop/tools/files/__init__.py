"""Tools that read, find and change files, and the jail that holds them inside the folder."""
