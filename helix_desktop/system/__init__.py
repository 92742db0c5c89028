"""What operating systems do each in their own way, for every floor above; it imports nothing of ours."""
