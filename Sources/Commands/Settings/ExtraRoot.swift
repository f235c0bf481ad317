import AppStore

/// A root certificate that is trusted in addition to Apple's, for some environments.
struct ExtraRoot: Hashable, Sendable {
    /// A PEM or DER file.
    let path: String
    /// The environments for which it is trusted.
    let environments: Set<AppStoreEnvironment>
}
