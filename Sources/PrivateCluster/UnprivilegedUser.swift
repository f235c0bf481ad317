package import Glibc

/// Whom PostgreSQL runs as when this process is root's, which it refuses.
package struct UnprivilegedUser: Sendable {
    package let name: String
    package let id: uid_t
    package let group: gid_t

    /// `postgres`, else `nobody`; nil when this process is not root's and needs nobody else.
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
