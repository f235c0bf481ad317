import AppStore

/// A root certificate of one's own, trusted beside Apple's for the environments it is configured for.
struct ExtraRoot: Hashable, Sendable {
    /// A PEM or DER file.
    let path: String
    /// What it may vouch for.
    let environments: Set<AppStoreEnvironment>
}
