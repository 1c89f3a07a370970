"""Objects, chunks, manifests and the node cache: content-addressed, verified on the way in and out.

Owns bytes by their digest. Must not know the registry, HTTP or Ray.
"""
