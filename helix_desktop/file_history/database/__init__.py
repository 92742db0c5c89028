"""The SQLite database of one workspace's file history; everything here blocks, and is for one thread."""
