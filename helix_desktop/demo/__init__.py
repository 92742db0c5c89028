"""The guided demo and the screenshots."""
