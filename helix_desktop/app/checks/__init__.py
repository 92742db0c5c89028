"""What the self-check tries, by what it needs: files alone, this machine, a painted window, children."""
