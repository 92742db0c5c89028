"""What operating systems do each in their own way; it imports nothing of ours."""
