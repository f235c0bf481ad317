package import Glibc

/// The user that PostgreSQL runs as when this process runs as root, which PostgreSQL refuses.
package struct UnprivilegedUser: Sendable {
    package let name: String
    package let id: uid_t
    package let group: gid_t

    /// The user `postgres`, else `nobody`; nil when this process does not run as root.
    package static func needed() throws(ClusterError) -> UnprivilegedUser? {
        guard getuid() == 0 else { return nil }
        for name in ["postgres", "nobody"] {
            if let entry = getpwnam(name) {
                return UnprivilegedUser(name: name, id: entry.pointee.pw_uid, group: entry.pointee.pw_gid)
            }
        }
        throw ClusterError(.system, "PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
    }
}
