"""A session replayed under any policy: what its window, its bill and its rewrites would have been."""
